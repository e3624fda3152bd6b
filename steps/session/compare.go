package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// CompareSchema is the schema of a comparison of engines.
var CompareSchema = plans.Schema{
	Doc: "Measures several engines side by side. They get the same text, one engine at a time, in fresh launches " +
		"interleaved by rounds. Each engine is first qualified by the levels of a protocol, against the reference " +
		"where a level compares; one whose level finds a number beyond its limit is measured and shown, and does not " +
		"count. Passes when every row was measured, except those in `optional`. The gates of its phase and later " +
		"ones read rows against the reference: `compare.frameworks[\"embedded.cached\"].chat.tg.gain >= 1.0`, from 4 " +
		"launches.",
	Example: `step "compare" "frameworks" {
  engines   = [engine.embedded.plain, engine.embedded.cached]
  reference = engine.embedded.plain
  workloads = [workload.chat]
  protocol  = protocol.standard
  launches  = 3
}`,
	Attrs: []plans.Attr{
		{Name: "engines", Type: plans.Refs, Ref: "engine", Required: true, Doc: "At least two engines, one row each."},
		{
			Name: "reference", Type: plans.Reference, Ref: "engine", Required: true,
			Doc: "The engine that speed-ups are relative to. It is launched first, and prompts have the requested " +
				"length in its tokens.",
		},
		{
			Name: "optional", Type: plans.Refs, Ref: "engine",
			Doc: "Engines that are allowed to break. Their rows stay in the table with the reason, and the step " +
				"passes without them. A rule that reads such a row does not pass.",
		},
		{
			Name: "workloads", Type: plans.Refs, Ref: "workload",
			Doc: "Workloads to send, in this order. `--suite` sends those of a suite instead. Engines of kind " +
				"`command` bring their own work.",
		},
		{
			Name: "protocol", Type: plans.Reference, Ref: "protocol", Required: true,
			Doc: "Its levels qualify each engine before it is measured. One launch, which is not measured, runs all " +
				"of them except the benchmark.",
		},
		{
			Name: "launches", Type: plans.Int, Default: 3.0, Unit: "launches per engine", Min: 2, MinSet: true,
			Doc: "Measured launches of each engine. Rules need 4 to 12.",
		},
	},
	Check: plans.Checked(checkCompare),
}

func checkCompare(_ *plans.Block, c plans.ComparisonContent) (errs []plans.AttrError) {
	if len(c.Engines) < 2 {
		errs = append(errs,
			plans.AttrError{
				Attr: "engines", Code: "comparison-of-engines", Summary: "Nothing to compare",
				Detail: "Name at least two engines, as in ‹engines = [engine.openai.vllm, engine.openai.llamacpp]›.",
			})
	}
	if !slices.Contains(c.Engines, c.Reference) {
		errs = append(errs,
			plans.AttrError{
				Attr: "reference", Code: "comparison-of-engines", Summary: "Reference is not compared",
				Detail: fmt.Sprintf("Speed-ups are relative to a row of the table, but engine.%s is not one. Add it "+
					"to engines, or name one of %s.", c.Reference, strings.Join(c.Engines, ", ")),
			})
	}
	for _, key := range c.Optional {
		switch {
		case key == c.Reference:
			errs = append(errs,
				plans.AttrError{
					Attr: "optional", Code: "comparison-of-engines", Summary: "Optional reference",
					Detail: fmt.Sprintf("Speed-ups are relative to engine.%s, so without it there are none. Remove "+
						"it from optional.", key),
				})
		case !slices.Contains(c.Engines, key):
			errs = append(errs,
				plans.AttrError{
					Attr: "optional", Code: "comparison-of-engines",
					Summary: "Optional engine is not compared",
					Detail: fmt.Sprintf("engine.%s is not a row. Add it to engines, or name some of %s.", key,
						strings.Join(c.Engines, ", ")),
				})
		}
	}
	servers := slices.ContainsFunc(c.Engines, func(key string) bool { return !strings.HasPrefix(key, "command.") })
	switch {
	case servers && len(c.Workloads) == 0:
		errs = append(errs, plans.AttrError{
			Code: "comparison-of-engines", Summary: "Comparison sends nothing",
			Detail: "Set the workloads to send, as in ‹workloads = [workload.chat]›.",
		})
	case !servers && len(c.Workloads) > 0:
		errs = append(errs,
			plans.AttrError{
				Attr: "workloads", Code: "command-is-no-server", Summary: "Workloads for a command",
				Detail: "All of these engines are commands, which bring their own work. Remove workloads.",
			})
	}
	return errs
}

// compared makes an arm of each engine. All are sent the same prompts, as each counts tokens in its own way.
func (t *table) compared(b *plans.Block) (arms []arm, err error) {
	if err := b.Decode(&t.ComparisonContent); err != nil {
		return nil, err
	}
	t.fit = t.lab.Variants.Plan.SentWorkloads(b)
	t.measured = func(rows int, v verdict.Verdict) []verdict.Reason {
		if v != verdict.Pass {
			return nil
		}
		return verdict.Because(
			code.Of("compare.done", "{engines} engines, {launches} launches each, against {reference}"),
			verdict.Int("engines", rows), verdict.Int("launches", t.Launches), verdict.Text("reference", t.Reference))
	}
	for _, key := range t.Engines {
		var knobs map[string]string
		if b := t.lab.Variants.Plan.Baseline; b != nil && b.Engine == key {
			knobs = t.lab.Variants.Plan.DefaultKnobs()
		}
		arms = append(arms, arm{key, key, knobs})
	}
	return arms, nil
}
