package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

var compareKind = stepKind{
	schema: plans.Schema{
		Doc: "Measures several engines side by side: the same workloads, the same text, one engine at a time, in fresh launches that are interleaved by rounds. Each engine is qualified first by the levels of a protocol; one that is not is a row that says why, and has no number. Passes when every row was measured. The baseline's engine has its knobs at their defaults, and any other is started as it is written.",
		Example: `step "compare" "frameworks" {
  engines   = [engine.embedded.plain, engine.embedded.cached]
  reference = engine.embedded.plain
  workloads = [workload.chat]
  protocol  = protocol.standard
  launches  = 3
}`,
		Attrs: []plans.Attr{
			{Name: "engines", Type: plans.Refs, Ref: "engine", Required: true, Doc: "At least two engines, one row each."},
			{Name: "reference", Type: plans.Reference, Ref: "engine", Required: true, Doc: "The engine that speed-ups are against. It is launched first, and prompts have the length asked for in its tokens."},
			{Name: "workloads", Type: plans.Refs, Ref: "workload", Doc: "What is sent to each engine, in this order. Those of kind `command` bring their own work."},
			{Name: "protocol", Type: plans.Reference, Ref: "protocol", Required: true, Doc: "Its levels but the benchmark qualify each engine, in one launch that is not measured."},
			{Name: "launches", Type: plans.Int, Default: 3.0, Unit: "launches an engine", Min: 2, MinSet: true, Doc: "Launches of each engine that are measured."},
		},
		Check: checkCompare,
	},
	make: func(l *Lab, b *plans.Block) runtime.Step { return &compare{lab: l, block: b} },
}

func checkCompare(b *plans.Block) (errs []plans.AttrError) {
	var c compareConfig
	if err := b.Decode(&c); err != nil {
		return []plans.AttrError{{Code: "comparison-of-engines", Summary: "Nothing to compare", Detail: err.Error()}}
	}
	if len(c.Engines) < 2 {
		errs = append(errs, plans.AttrError{Attr: "engines", Code: "comparison-of-engines", Summary: "Nothing to compare", Detail: "Name at least two engines, as in engines = [engine.openai.vllm, engine.openai.llamacpp]."})
	}
	if !slices.Contains(c.Engines, c.Reference) {
		errs = append(errs, plans.AttrError{Attr: "reference", Code: "comparison-of-engines", Summary: "Reference is not compared", Detail: fmt.Sprintf("Speed-ups are against a row of the table, and engine.%s is none. Add it to engines, or name one of %s.", c.Reference, strings.Join(c.Engines, ", "))})
	}
	servers := slices.ContainsFunc(c.Engines, func(key string) bool { return !strings.HasPrefix(key, "command.") })
	switch {
	case servers && len(c.Workloads) == 0:
		errs = append(errs, plans.AttrError{Code: "comparison-of-engines", Summary: "Comparison sends nothing", Detail: "Name what the engines are sent, as in workloads = [workload.chat]."})
	case !servers && len(c.Workloads) > 0:
		errs = append(errs, plans.AttrError{Attr: "workloads", Code: "command-is-no-server", Summary: "Workloads for a command", Detail: "All of these engines are commands, which bring their own work. Remove workloads."})
	}
	return errs
}

type compareConfig struct {
	Engines   []string `json:"engines"`
	Reference string   `json:"reference"`
	Workloads []string `json:"workloads"`
	Protocol  string   `json:"protocol"`
	Launches  int      `json:"launches"`
}

// compare is the comparison of frameworks.
type compare struct {
	lab   *Lab
	block *plans.Block
}

// comparison is what a compare step has to do, all names looked up.
type comparison struct {
	compareConfig
	protocol  *plans.Protocol
	workloads []*plans.Workload
	// variants are the engines, the reference first; rows in the plan's order.
	variants, rows []*variant.Variant
}

func (c *compare) comparison(s *runtime.Scope) (*comparison, error) {
	out := &comparison{}
	if err := c.block.Decode(&out.compareConfig); err != nil {
		return nil, err
	}
	out.protocol = c.lab.Plan.Protocol(out.Protocol)
	if out.protocol == nil {
		return nil, fmt.Errorf("there is no protocol %q", out.Protocol)
	}
	for _, name := range out.Workloads {
		out.workloads = append(out.workloads, c.lab.Plan.Workload(name))
	}
	for _, key := range out.Engines {
		var knobs map[string]string
		if b := c.lab.Plan.Baseline; b != nil && b.Engine == key {
			knobs = c.lab.Plan.DefaultKnobs()
		}
		v, err := c.lab.Resolve(s, key, key, knobs)
		if err != nil {
			return nil, fmt.Errorf("engine.%s: %w", key, err)
		}
		// Two rows that start the same are still two rows.
		v.Key = runtime.Digest("compared", key, v.Key)
		out.rows = append(out.rows, v)
		if key == out.Reference {
			out.variants = slices.Insert(out.variants, 0, v)
		} else {
			out.variants = append(out.variants, v)
		}
	}
	return out, nil
}

// Prepare implements runtime.Preparer. An engine whose image cannot be had is a
// row that says so, which its launch sees to; but no comparison is kept where it
// is unknown whether an image is still the same.
func (c *compare) Prepare(ctx context.Context, s *runtime.Scope) error {
	it, err := c.comparison(s)
	if err != nil {
		return nil // Keys says so
	}
	var failed error
	for _, v := range it.variants {
		if err := c.lab.Fetch(ctx, v); failed == nil {
			failed = err
		}
	}
	if s.Previous == nil || !s.Previous.Verdict.Kept() {
		return nil
	}
	return failed
}

// Keys: asking for more launches goes on with the same session, as in a
// benchmark. The reference decides the prompts, so it is measured by.
func (c *compare) Keys(s *runtime.Scope) (runtime.Keys, error) {
	it, err := c.comparison(s)
	if err != nil {
		return runtime.Keys{}, err
	}
	measure := runtime.Digest("compare", c.lab.BenchmarkKey(it.workloads, it.variants), c.lab.qualifyKey(it.protocol, it.variants...))
	return runtime.Keys{Measure: measure, Decide: runtime.Digest("launches", it.Launches, decide.Version)}, nil
}

// Foresee implements runtime.Foreseer: a qualification of each engine that was
// not measured yet, and the launches that the session lacks.
func (c *compare) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	it, err := c.comparison(s)
	if err != nil {
		return nil, nil, err
	}
	slots := interleave(it.variants, it.Launches)
	session, err := c.lab.sessionID(s, len(slots))
	if err != nil {
		return nil, nil, err
	}
	have, err := c.lab.session(session)
	if err != nil {
		return nil, nil, err
	}
	var launches []runtime.PlannedLaunch
	for _, v := range it.variants {
		if !launched(have, v) && len(levelsOf(it.protocol, v)) > 0 {
			launches = append(launches, planned(v, ledger.ForQualification))
		}
	}
	for _, sl := range slots {
		if existing(have, sl) == nil {
			launches = append(launches, planned(sl.variant, ledger.ForBenchmark))
		}
	}
	return &ledger.Decision{Session: session}, launches, nil
}
