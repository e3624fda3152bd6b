package session

import (
	"context"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/variant"
)

// qualify makes the one launch that earns a variant the right to be measured. It runs all
// levels of the protocol but the benchmark.
type qualify struct {
	lab *Lab
	// feature is nil for the baseline.
	feature *plans.Feature
}

// variants lists what this node must qualify: its own variant, and the stack it builds on
// if no other node has started that combination.
func (q *qualify) variants(s *runtime.Scope) ([]*variant.Variant, error) {
	if q.feature == nil {
		v, err := q.lab.Baseline(s)
		return []*variant.Variant{v}, err
	}
	a, err := q.lab.Arms(s, q.feature)
	if err != nil {
		return nil, err
	}
	if q.qualified(s, a.Parent) {
		return []*variant.Variant{a.Candidate}, nil
	}
	return []*variant.Variant{a.Parent, a.Candidate}, nil
}

func (q *qualify) protocol() *plans.Protocol {
	name := q.lab.Plan.Baseline.Protocol
	if q.feature != nil {
		name = q.feature.Protocol
	}
	return q.lab.Plan.Protocol(name)
}

func (q *qualify) Keys(s *runtime.Scope) (runtime.Keys, error) {
	vs, err := q.variants(s)
	if err != nil {
		return runtime.Keys{}, err
	}
	keys := runtime.Keys{Measure: q.lab.qualifyKey(q.protocol(), vs...), Decide: "levels", Why: q.lab.TreesChanged(s, vs...)}
	if a, err := q.compared(s); err != nil {
		return runtime.Keys{}, err
	} else if a != nil {
		keys.Measure = runtime.Digest("compared", keys.Measure, a.Parent.Key)
	}
	why, err := q.spared(s, vs[len(vs)-1])
	if !why.IsZero() {
		// The variant to compare with, or the first engine, may change later.
		keys.Measure = runtime.Digest(why.Code, keys.Measure)
	}
	return keys, err
}

func (q *qualify) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	vs, err := q.variants(s)
	if err != nil {
		return nil, err
	}
	out := &ledger.Decision{Variant: maps.Clone(vs[len(vs)-1].Knobs)}
	if why, err := q.spared(s, vs[len(vs)-1]); !why.IsZero() || err != nil {
		out.Verdict, out.Reasons, out.Derived = verdict.Invalid, []verdict.Reason{why}, true
		return out, err
	}
	var verdicts []verdict.Verdict
	for _, v := range vs {
		own := v == vs[len(vs)-1]
		var parent levels.Parent
		if own {
			if parent.Qualified, err = q.parent(s, out); err != nil {
				return nil, err
			}
			if parent.Answered, err = q.answered(ctx, s, v, out); ctx.Err() != nil {
				return nil, err
			} else if err != nil {
				// Without its parent's answers nothing is known of its own.
				verdicts = append(verdicts, verdict.Error)
				out.Levels = append(out.Levels, ledger.Level{Name: levels.Correctness, Verdict: verdict.Error, Reasons: []verdict.Reason{verdict.OfError(err)}})
				break
			}
		}
		levels, launch, err := levels.Run(ctx, s, &q.lab.Lab, q.protocol(), v, parent, nil, nil, out)
		if err == nil && own && unfit(levels) >= 0 && !launch.OK {
			levels, err = q.again(ctx, s, v, parent, launch, levels, out)
		}
		if err != nil {
			return nil, err
		}
		for _, l := range levels {
			verdicts = append(verdicts, l.Verdict)
			if !own {
				// The stack that the feature builds on is qualified beside it.
				l.Name = v.Name + "/" + l.Name
			}
			out.Levels = append(out.Levels, l)
		}
		if verdict.Join(verdicts...) != verdict.Pass {
			break
		}
	}
	out.Verdict = verdict.Join(verdicts...)
	if len(verdicts) == 0 {
		out.Verdict = verdict.Pass
		out.Reasons = []verdict.Reason{verdict.New(code.OnlyBenchmark)}
	}
	for _, l := range out.Levels {
		if l.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, l.Reason())
		}
	}
	return out, nil
}

// compared are the arms whose answers a level compares; nil if none does.
func (q *qualify) compared(s *runtime.Scope) (*launch.Arms, error) {
	if q.feature == nil || !levels.Compares(q.protocol()) {
		return nil, nil
	}
	a, err := q.lab.Arms(s, q.feature)
	return &a, err
}

// answered are the launches to compare answers with: the parent's and, for the baseline,
// one of its own, which shows how far apart its launches are.
func (q *qualify) answered(ctx context.Context, s *runtime.Scope, own *variant.Variant, out *ledger.Decision) ([]*ledger.Launch, error) {
	if q.feature == nil {
		return levels.References(ctx, s, &q.lab.Lab, q.protocol(), own, 1, out)
	}
	a, err := q.compared(s)
	if a == nil || err != nil {
		return nil, err
	}
	return levels.References(ctx, s, &q.lab.Lab, q.protocol(), a.Parent, 2, out)
}

// again qualifies a candidate once more whose launch crashed where its parent's did not:
// a second crash is the outcome, otherwise its levels are those of the second launch.
func (q *qualify) again(ctx context.Context, s *runtime.Scope, v *variant.Variant, below levels.Parent, first *ledger.Launch, before []ledger.Level, out *ledger.Decision) ([]ledger.Level, error) {
	if q.feature == nil {
		return before, nil
	}
	a, err := q.lab.Arms(s, q.feature)
	if err != nil {
		return nil, err
	}
	candidate, parent := a.Keyed().Candidate, a.Keyed().Parent
	launches := append(q.others(s, out, parent.Key), first)
	if !decide.MayCrashAgain(candidate, parent, launches) {
		return before, nil
	}
	out.LogTail, out.Exit = nil, nil
	after, second, err := levels.Run(ctx, s, &q.lab.Lab, q.protocol(), v, below, nil, first, out)
	if err != nil {
		return nil, err
	}
	at := unfit(after)
	_, why := decide.CrashedAgain(candidate, parent, append(launches, second))
	if at < 0 || why.IsZero() {
		out.Reasons = append(out.Reasons, verdict.New(code.LaunchReplaced).On(first.ID).From(first.Error))
		return after, nil
	}
	// The levels after the one at which it crashed fail with it.
	for i := at; i < len(after); i++ {
		after[i].Verdict, after[i].Reasons = verdict.Fail, []verdict.Reason{why}
		why = verdict.New(code.LevelIs).On(after[at].Name).Is(verdict.Fail)
	}
	return after, nil
}

// parent is the launch that qualified what the candidate builds on; nil for the baseline,
// and if none counts.
func (q *qualify) parent(s *runtime.Scope, out *ledger.Decision) (*ledger.Launch, error) {
	if q.feature == nil {
		return nil, nil
	}
	a, err := q.lab.Arms(s, q.feature)
	if err != nil {
		return nil, err
	}
	for _, l := range q.others(s, out, a.Keyed().Parent.Key) {
		if decide.Sound(l) && l.Purpose == ledger.ForQualification {
			return l, nil
		}
	}
	return nil, nil
}

// unfit is the index of the first level that did not pass; -1 if all did.
func unfit(all []ledger.Level) int {
	return slices.IndexFunc(all, func(l ledger.Level) bool { return l.Verdict != verdict.Pass })
}

// others are the launches that qualified a parent by the same levels: here, beside the
// candidate, or in another node.
func (q *qualify) others(s *runtime.Scope, out *ledger.Decision, key string) (launches []*ledger.Launch) {
	ids := slices.Clone(out.Launches)
	add := func(node, protocol string) {
		if d := s.Outcome(node); d != nil && runtime.Digest(levelParts(q.lab.Plan, q.lab.Plan.Protocol(protocol))...) == runtime.Digest(levelParts(q.lab.Plan, q.protocol())...) {
			ids = append(ids, d.Launches...)
		}
	}
	add(runtime.BaselineID, q.lab.Plan.Baseline.Protocol)
	for _, f := range q.lab.Plan.Candidates() {
		add(runtime.QualifyID(f.Name), f.Protocol)
	}
	for _, id := range ids {
		if launch, ok := q.lab.Store.LaunchByID(id); ok && launch.VariantKey == key {
			launches = append(launches, launch)
		}
	}
	return launches
}

// qualified reports whether another node has already qualified a variant. Other engines
// are used for confirmation only if features pass, so which of those nodes exist depends
// on other decisions: there, each qualifies for itself.
func (q *qualify) qualified(s *runtime.Scope, v *variant.Variant) bool {
	if q.feature.Engine != "" {
		return false
	}
	passed := func(id string) bool {
		d := s.Outcome(id)
		return d != nil && d.Verdict == verdict.Pass && maps.Equal(d.Variant, v.Knobs)
	}
	if passed(runtime.BaselineID) {
		return true
	}
	for _, ph := range q.lab.Plan.Phases {
		for _, f := range ph.Features {
			for _, c := range runtime.Candidates(f) {
				if c.Name != q.feature.Name && passed(runtime.QualifyID(c.Name)) {
					return true
				}
			}
		}
	}
	return false
}

// nothingUnderTest is why launches of a candidate would show nothing: it resolves to the
// variant that it is compared with. No fact if it does not, and if nothing is compared.
func (l *Lab) nothingUnderTest(s *runtime.Scope, f *plans.Feature) (verdict.Reason, error) {
	if f == nil || !decide.Benchmarked(l.Plan, f) {
		return verdict.Reason{}, nil
	}
	a, err := l.Arms(s, f)
	if err != nil || a.Candidate.Key != a.Parent.Key {
		return verdict.Reason{}, err
	}
	return nothingUnderTest(a), nil
}

func nothingUnderTest(a launch.Arms) verdict.Reason {
	return verdict.New(code.NothingUnderTest, verdict.Text("parent", a.Parent.Name))
}

// spared is why nothing is launched: it could show nothing.
func (q *qualify) spared(s *runtime.Scope, candidate *variant.Variant) (verdict.Reason, error) {
	if why, err := q.lab.confirmsNothing(s, q.feature, candidate); !why.IsZero() || err != nil {
		return why, err
	}
	return q.lab.nothingUnderTest(s, q.feature)
}

// confirmsNothing is why a confirmation could only repeat what is known: with its knobs
// the other engine resolves to the first one, so its launches would be identical. No fact
// if it differs, and for what is not a confirmation.
func (l *Lab) confirmsNothing(s *runtime.Scope, f *plans.Feature, candidate *variant.Variant) (verdict.Reason, error) {
	if f == nil || f.Engine == "" {
		return verdict.Reason{}, nil
	}
	first, err := l.Arms(s, l.Plan.Feature(f.Of))
	if err != nil || first.Candidate.Key != candidate.Key {
		return verdict.Reason{}, err
	}
	return verdict.New(code.ConfirmsNothing, verdict.Text("engine", f.Engine), verdict.Text("first", first.Candidate.Engine)).On(first.Candidate.Name), nil
}

// qualifyKey covers the variants, the levels with their settings, and the machine.
func (l *Lab) qualifyKey(protocol *plans.Protocol, vs ...*variant.Variant) string {
	var parts []any
	for _, v := range vs {
		parts = append(parts, v.Key, l.EvidenceKey(v.Knobs))
		if protocol.Level(levels.Profile) != nil {
			parts = append(parts, v.Profiler)
		}
	}
	parts = append(parts, levelParts(l.Plan, protocol)...)
	return l.Sealed("qualify", variant.MeasuringVersion, l.MachineKey, parts)
}

// levelParts are the levels that qualify a variant, with their settings.
func levelParts(p *plans.Plan, protocol *plans.Protocol) (parts []any) {
	for _, level := range levels.Qualifying(protocol) {
		parts = append(parts, level.Kind, level.Name, level.Attrs, level.Parts)
	}
	if asks, err := levels.Asks(p, protocol); asks != nil || err != nil {
		parts = append(parts, asks)
	}
	return parts
}

// Foresee implements runtime.Foreseer.
func (q *qualify) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	vs, err := q.variants(s)
	if err != nil {
		return nil, nil, err
	}
	out := &ledger.Decision{Variant: vs[len(vs)-1].Knobs}
	if why, err := q.spared(s, vs[len(vs)-1]); !why.IsZero() || err != nil {
		out.Verdict, out.Reasons = verdict.Invalid, []verdict.Reason{why}
		return out, nil, err
	}
	var launches []runtime.PlannedLaunch
	for _, v := range vs {
		if len(levels.Of(q.protocol(), v)) > 0 {
			launches = append(launches, qualifying(v, q.protocol()))
		}
	}
	v, err := q.refers(s, vs)
	if v != nil {
		launches = append(launches, planned(v, ledger.ForReference, ""))
	}
	return out, launches, err
}

// refers is the variant that is launched once more here for its answers: the baseline,
// and a parent that is another; nil if none is.
func (q *qualify) refers(s *runtime.Scope, vs []*variant.Variant) (*variant.Variant, error) {
	if !levels.Compares(q.protocol()) || vs[0].Command != nil {
		return nil, nil
	}
	if q.feature == nil {
		return vs[0], nil
	}
	a, err := q.lab.Arms(s, q.feature)
	if err != nil || a.Parent.Key == a.Root.Key && len(vs) == 1 {
		return nil, err
	}
	return a.Parent, nil
}

var _ = []runtime.Preparer{(*qualify)(nil), (*benchmark)(nil), (*compare)(nil)}

// Prepare implements runtime.Preparer.
func (q *qualify) Prepare(ctx context.Context, s *runtime.Scope) error {
	vs, err := q.variants(s)
	if err != nil {
		return nil // Keys reports it
	}
	return q.lab.Fetch(ctx, vs...)
}
