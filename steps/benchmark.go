package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

var benchmarkKind = levelKind{
	schema: plans.Schema{
		Doc: "Measures the candidate against its parent in fresh, interleaved launches. Each launch starts the engine anew, warms it up and sends every workload.",
		Example: `level "benchmark" {
  workloads = [workload.chat]
  launches  = 3
}`,
		Attrs: []plans.Attr{
			{Name: "workloads", Type: plans.Refs, Ref: "workload", Doc: "What is sent, in this order. Required for a server, unless `suite` stands in its place; an engine of kind `command` brings its own work and has neither."},
			{Name: "suite", Type: plans.Reference, Ref: "suite", Doc: "What is sent, as a suite of workloads. `--suite` on the command line takes another one instead."},
			{Name: "launches", Type: plans.Int, Default: 3.0, Unit: "launches an arm", Min: 1, MinSet: true, Doc: "Launches of each arm. With one, no number can pass a rule."},
		},
		Check: func(b *plans.Block) []plans.AttrError {
			w, listed := b.Attrs["workloads"].([]any)
			switch {
			case listed && len(w) == 0:
				return []plans.AttrError{{Attr: "workloads", Summary: "Nothing to measure", Detail: "Name at least one workload, as in workloads = [workload.chat]."}}
			case listed && b.Attrs["suite"] != nil:
				return []plans.AttrError{{Attr: "suite", Summary: "Two ways to say the same", Detail: "A benchmark sends workloads or a suite of them. Remove one; --suite takes another suite in either case."}}
			}
			return nil
		},
	},
}

type benchmarkConfig struct {
	Launches int `json:"launches"`
}

// benchmark measures a candidate and what it is compared with.
type benchmark struct {
	lab     *Lab
	feature *plans.Feature
}

// benchmarked reports whether a feature's protocol has a benchmark.
func (l *Lab) benchmarked(f *plans.Feature) bool {
	p := l.Plan.Protocol(f.Protocol)
	return p != nil && p.Level(benchmarkLevel) != nil
}

func (b *benchmark) config() (c benchmarkConfig, ws []*plans.Workload, err error) {
	level := b.lab.Plan.Protocol(b.feature.Protocol).Level(benchmarkLevel)
	if err = level.Decode(&c); err != nil {
		return c, nil, err
	}
	for _, name := range b.lab.Plan.Sent(level) {
		ws = append(ws, b.lab.Plan.Workload(name))
	}
	return c, ws, nil
}

// arms lists the variants to launch. The baseline joins when a rule asks for it.
func (b *benchmark) arms(s *runtime.Scope) ([]*variant, arms, error) {
	a, err := b.lab.armsOf(s, b.feature)
	if err != nil {
		return nil, a, err
	}
	return a.distinct(b.readsRoot()), a, nil
}

func (b *benchmark) readsRoot() bool {
	rules := append([]*plans.Rule(nil), b.feature.Criteria...)
	for _, ph := range b.lab.Plan.Phases {
		if ph.Gate != nil {
			rules = append(rules, ph.Gate.Rules...)
		}
	}
	for _, r := range rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Root && in.Feature == b.feature.Name {
				return true
			}
		}
	}
	return false
}

// Keys: the number of launches decides, it does not measure, so asking for more
// goes on with the same session. A candidate that is not qualified has another
// key than one that is.
func (b *benchmark) Keys(s *runtime.Scope) (runtime.Keys, error) {
	vs, _, err := b.arms(s)
	if err != nil {
		return runtime.Keys{}, err
	}
	c, ws, err := b.config()
	if err != nil {
		return runtime.Keys{}, err
	}
	q := s.Outcome(runtime.QualifyID(b.feature.Name))
	if q == nil {
		return runtime.Keys{}, runtime.ErrUndecided
	}
	measure := b.lab.benchmarkKey(ws, vs)
	if q.Verdict != verdict.Pass {
		measure = digest("unqualified", measure, identity(q))
	}
	return runtime.Keys{Measure: measure, Decide: digest(slices.Concat([]any{"launches", c.Launches}, judged(ws), b.lab.freed(), b.lab.acceptedParts())...), Why: b.lab.treesChanged(vs...)}, nil
}
