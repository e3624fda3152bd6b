package ab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/steps/questions/arms"
)

// CheckOf makes a question about a user's plan: two revisions or pins of its engine's source,
// two images, or two of its variants, on its workloads and levels.
func (q *Question) CheckOf(ctx context.Context, p *plans.Plan) (err error) {
	q.Of = p
	if err := arms.HasBaseline(p); err != nil {
		return err
	}
	q.Kind, _ = kinds.Lookup(p.Engine(p.Baseline.Engine).Kind)
	metric := q.Metric
	if i := strings.LastIndexByte(q.Metric, '.'); i >= 0 {
		q.Cell, metric = q.Metric[:i], q.Metric[i+1:]
	} else if cells := p.SentCells(); len(cells) == 1 {
		q.Cell = cells[0]
	} else {
		return fmt.Errorf("the plan sends %d loads: name what is compared, as in --metric %s.%s", len(cells),
			append(cells, "WORKLOAD")[0], metric)
	}
	if w, _, _ := strings.Cut(q.Cell, "."); p.Workload(w) == nil {
		return fmt.Errorf("--metric %s: the plan has no workload %q, only %s", q.Metric, w,
			strings.Join(plans.Names(p.Workloads, func(w *plans.Workload) string { return w.Name }), ", "))
	}
	if q.Claim, err = ParseClaim(metric, q.Claimed); err == nil {
		err = q.launches()
	}
	if err == nil && len(q.Images) > 0 {
		q.Images, err = arms.Images(q.Images)
	}
	if err != nil {
		return err
	}
	p.Baseline.AcceptFingerprint = append(p.Baseline.AcceptFingerprint, q.Accept...)
	if q.Source != "" && len(q.Refs)+len(q.Pins) == 0 {
		return errors.New("--repo names the source of --ref and --pins: remove it")
	}
	of := &arms.Question{Plan: p, Source: q.Source}
	given := 0
	var is [2]string // what each arm is, by whatever name
	for _, pair := range []struct {
		flag  string
		names []string
		of    func(name string) (arm arms.Arm, is string, err error)
	}{
		{"ref", q.Refs, func(name string) (arm arms.Arm, sha string, err error) {
			r, err := arms.Repo(ctx, p, q.Source)
			if err == nil {
				sha, err = r.Commit(ctx, name)
			}
			return arms.Arm{Ref: name}, sha, err
		}},
		{"image", q.Images, func(name string) (arms.Arm, string, error) { return arms.Arm{Image: name}, name, nil }},
		{"pins", q.Pins, pinned},
		{"a and --b", q.variants(), func(name string) (arms.Arm, string, error) {
			arm, err := variantOf(p, name)
			set := p.DefaultKnobs()
			maps.Copy(set, arm.Set)
			return arm, fmt.Sprint(set), err
		}},
	} {
		if len(pair.names) == 0 {
			continue
		}
		if given++; len(pair.names) != 2 || given > 1 {
			return fmt.Errorf("--%s: give A and B by one kind of flag: --ref X --ref Y, --image, --pins, or --a "+
				"baseline --b FEATURE", pair.flag)
		}
		for i, name := range pair.names {
			arm, what, err := pair.of(name)
			if err != nil {
				return err
			}
			is[i] = what
			arm.Name = []string{"A", "B"}[i]
			of.Arms, q.Arms[i] = append(of.Arms, arm), Arm{Text: name}
		}
	}
	switch {
	case given == 0:
		return errors.New(
			"say what to compare: --ref X --ref Y, --image X --image Y, --pins X --pins Y, or --a baseline --b FEATURE")
	case is[0] == is[1]:
		return fmt.Errorf("%s and %s are the same: there is nothing to compare", q.Arms[0].Text, q.Arms[1].Text)
	}
	w := &arms.Writer{}
	set := map[string]string{}
	if of.Knobbed() {
		set[arms.Knob] = "B"
	}
	for knob := range of.Arms[0].Set { // B is on the parent that A is, unless it says otherwise
		set[knob] = p.DefaultKnobs()[knob]
	}
	maps.Copy(set, of.Arms[1].Set)
	w.Phase("ab", "B", set, "claim", q.Claim.Rule(q.Cell))
	of.Phases = string(w.Format())
	q.Asks, err = of.HCL()
	return err
}

func (q *Question) variants() []string {
	if q.A+q.B == "" {
		return nil
	}
	return []string{q.A, q.B}
}

// pinned is an arm with a file of package pins.
func pinned(file string) (arm arms.Arm, pins string, err error) {
	text, err := os.ReadFile(file)
	if err == nil && strings.TrimSpace(string(text)) == "" {
		err = fmt.Errorf("--pins: %s is empty", file)
	}
	if err == nil {
		arm.Pins, err = filepath.Abs(file)
	}
	return arm, strings.TrimSpace(string(text)), err
}

// variantOf is the baseline, or what a feature sets on the features that it builds on.
func variantOf(p *plans.Plan, name string) (arm arms.Arm, err error) {
	arm.Set = map[string]string{}
	for name != "baseline" {
		f := p.Feature(name)
		switch {
		case f == nil:
			return arm, fmt.Errorf("--a and --b: the plan has no feature %q: give baseline or a feature (it has %s)",
				name, lang.OrNothing(plans.Names(p.Features(), func(f *plans.Feature) string { return f.Name })))
		case f.Choose != nil || f.BuildsOn.Kind == plans.OnAccepted:
			return arm,
				fmt.Errorf("what feature %q sets depends on what an apply decides: compare it with mxflow apply", name)
		}
		for knob, value := range f.Set {
			if _, later := arm.Set[knob]; !later {
				arm.Set[knob] = value
			}
		}
		if name = f.BuildsOn.Feature; f.BuildsOn.Kind != plans.OnFeature {
			name = "baseline"
		}
	}
	return arm, nil
}
