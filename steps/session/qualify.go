package session

import (
	"context"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
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

type subject struct {
	protocol *plans.Protocol
	// variants are its own, last, and before it the stack that it builds on if no other
	// node has started that combination.
	variants []*variant.Variant
	arms     launch.Arms
	// spared is why nothing is launched: it could show nothing.
	spared verdict.Reason
}

func (sub *subject) variant() *variant.Variant { return sub.variants[len(sub.variants)-1] }

func (q *qualify) subject(s *runtime.Scope) (*subject, error) {
	plan, f := q.lab.Variants.Plan, q.feature
	if f == nil {
		v, err := q.lab.Variants.Baseline(s)
		return &subject{protocol: plan.Protocol(plan.Baseline.Protocol), variants: []*variant.Variant{v}}, err
	}
	a, err := q.lab.Launches.Arms(s, f)
	if err != nil {
		return nil, err
	}
	sub := &subject{protocol: plan.Protocol(f.Protocol), variants: []*variant.Variant{a.Parent, a.Candidate}, arms: a}
	if q.qualifiedElsewhere(s, a.Parent) {
		sub.variants = sub.variants[1:]
	}
	if f.Engine != "" {
		// A confirmation whose knobs make the other engine the same as the first could only
		// repeat what is known.
		first, err := q.lab.Launches.Arms(s, plan.Feature(f.Of))
		if err != nil {
			return nil, err
		}
		if first.Candidate.Key == a.Candidate.Key {
			sub.spared = verdict.Say("session.confirms_nothing",
				"confirms nothing: with the knobs of {subject}, engine.{engine} starts exactly as engine.{first} "+
					"does",
				verdict.Text("engine", f.Engine),
				verdict.Text("first", first.Candidate.Engine)).On(first.Candidate.Name)
		}
	}
	if sub.spared.IsZero() && a.Candidate.Key == a.Parent.Key && decide.Benchmarked(plan, f) {
		sub.spared = nothingUnderTest(a)
	}
	return sub, nil
}

// nothingUnderTest is why launches of a candidate would show nothing: it resolves to the
// variant that it is compared with.
func nothingUnderTest(a launch.Arms) verdict.Reason {
	return verdict.Say("session.nothing_under_test",
		"nothing under test: the candidate is the same variant as {parent}",
		verdict.Text("parent", a.Parent.Name))
}

func (q *qualify) Prepare(ctx context.Context, s *runtime.Scope) error {
	sub, err := q.subject(s)
	if err != nil {
		return nil // Derive reports it
	}
	return q.lab.Launches.Fetch(ctx, sub.variants...)
}

// Derive implements runtime.Step. The variant to compare answers with, or the first engine,
// may change later.
func (q *qualify) Derive(s *runtime.Scope) (*runtime.Derived, error) {
	sub, err := q.subject(s)
	if err != nil {
		return nil, err
	}
	out := &runtime.Derived{Key: q.lab.qualifyKey(sub.protocol, sub.variants...), Variant: sub.variant().Knobs}
	if q.feature != nil && levels.ComparedBy(sub.protocol) != "" {
		out.Key = runtime.Digest("compared", out.Key, sub.arms.Parent.Key)
	}
	if !sub.spared.IsZero() {
		out.Notes = []verdict.Reason{sub.spared}
		out.Outcome = &ledger.Decision{
			Variant: out.Variant, Verdict: verdict.Invalid,
			Reasons: out.Notes, Derived: true,
		}
		return out, nil
	}
	out.Outcome, out.Why = s.Recorded(out.Key, changed(s, q.lab.Launches.WhatChanged(s, sub.variants...), out.Variant))
	if out.Outcome != nil {
		return out, nil
	}
	for _, v := range sub.variants {
		if len(levels.Of(sub.protocol, v)) > 0 {
			out.Launches = append(out.Launches, qualifying(v, sub.protocol))
		}
	}
	// The baseline, and a parent that is another, are launched once more for their answers.
	if levels.ComparedBy(sub.protocol) != "" && sub.variants[0].Command == nil {
		switch a := sub.arms; {
		case q.feature == nil:
			out.Launches = append(out.Launches, plannedLaunch(sub.variant(), ledger.ForReference, ""))
		case a.Parent.Key != a.Root.Key || len(sub.variants) > 1:
			out.Launches = append(out.Launches, plannedLaunch(a.Parent, ledger.ForReference, ""))
		}
	}
	return out, nil
}

func (q *qualify) Do(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	sub, err := q.subject(s)
	if err != nil {
		return nil, err
	}
	out := &ledger.Decision{Variant: sub.variant().Knobs}
	var verdicts []verdict.Verdict
	for _, v := range sub.variants {
		own := v == sub.variant()
		var parent levels.Parent
		if own {
			if parent, err = q.parent(ctx, s, sub, out); ctx.Err() != nil {
				return nil, ctx.Err()
			} else if err != nil {
				// Without its parent's answers nothing is known of its own.
				verdicts = append(verdicts, verdict.Error)
				out.Levels = append(out.Levels, ledger.Level{
					Name:    levels.ComparedBy(sub.protocol),
					Verdict: verdict.Error, Reasons: []verdict.Reason{verdict.OfError(err)},
				})
				break
			}
		}
		levels, launch, err := levels.Run(ctx, s, q.lab.Launches, sub.protocol, v, parent, nil, nil, out)
		if err == nil && own && q.feature != nil && firstNotPassed(levels) >= 0 && !launch.OK {
			levels, err = q.repeatAfterCrash(ctx, s, sub, parent, launch, levels, out)
		}
		if err != nil {
			return nil, err
		}
		for _, l := range levels {
			if !decide.LosesAccuracy(l) {
				verdicts = append(verdicts, l.Verdict)
			}
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
		out.Reasons = []verdict.Reason{verdict.Say("session.only_benchmark",
			"the protocol has no level other than the benchmark")}
	}
	for _, l := range out.Levels {
		if l.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, l.Reason())
		}
	}
	return out, nil
}

// parent is the reference of the levels: the launch that qualified the parent, if one
// counts, and its answers. The baseline's answers are compared with those of a second
// launch of its own, which shows how far apart its launches are.
func (q *qualify) parent(ctx context.Context, s *runtime.Scope, sub *subject,
	out *ledger.Decision,
) (parent levels.Parent, err error) {
	if q.feature == nil {
		parent.Answered, err = levels.References(ctx, s, q.lab.Launches, sub.protocol, sub.variant(), 1, out)
		return parent, err
	}
	for _, l := range q.parentQualifications(s, sub, out) {
		if parent.Qualified == nil && decide.Usable(l) && l.Purpose == ledger.ForQualification {
			parent.Qualified = l
		}
	}
	parent.Answered, err = levels.References(ctx, s, q.lab.Launches, sub.protocol, sub.arms.Parent, 2, out)
	return parent, err
}

// repeatAfterCrash qualifies a candidate once more whose launch crashed where its parent's did not:
// a second crash is the outcome, otherwise its levels are those of the second launch.
func (q *qualify) repeatAfterCrash(ctx context.Context, s *runtime.Scope, sub *subject, parent levels.Parent,
	first *ledger.Launch, before []ledger.Level, out *ledger.Decision,
) ([]ledger.Level, error) {
	arms := sub.arms.ArmKeys()
	launches := append(q.parentQualifications(s, sub, out), first)
	if !decide.MayCrashAgain(arms.Candidate, arms.Parent, launches) {
		return before, nil
	}
	out.LogTail, out.Exit = nil, nil
	after, second, err := levels.Run(ctx, s, q.lab.Launches, sub.protocol, sub.variant(), parent, nil, first, out)
	if err != nil {
		return nil, err
	}
	at := firstNotPassed(after)
	_, why := decide.CrashedAgain(arms.Candidate, arms.Parent, append(launches, second))
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

// firstNotPassed is the index of the first level that did not pass; -1 if all did.
func firstNotPassed(all []ledger.Level) int {
	return slices.IndexFunc(all, func(l ledger.Level) bool { return l.Verdict != verdict.Pass })
}

// parentQualifications are the launches that qualified the parent by the same levels: here, beside the
// candidate, or in another node.
func (q *qualify) parentQualifications(s *runtime.Scope, sub *subject,
	out *ledger.Decision,
) (launches []*ledger.Launch) {
	ids, plan := slices.Clone(out.Launches), q.lab.Variants.Plan
	add := func(node, protocol string) {
		if d := s.Outcome(node); d != nil && runtime.Digest(levelParts(plan, plan.Protocol(protocol))...) ==
			runtime.Digest(levelParts(plan, sub.protocol)...) {
			ids = append(ids, d.Launches...)
		}
	}
	add(runtime.BaselineID, plan.Baseline.Protocol)
	for _, f := range plan.Candidates() {
		add(runtime.QualifyID(f.Name), f.Protocol)
	}
	for _, id := range ids {
		if launch, ok := q.lab.Launches.Store.LaunchByID(id); ok && launch.VariantKey == sub.arms.Parent.Key {
			launches = append(launches, launch)
		}
	}
	return launches
}

// qualifiedElsewhere reports whether another node has already qualified a variant. Other engines
// are used for confirmation only if features pass, so which of those nodes exist depends
// on other decisions: there, each qualifies for itself.
func (q *qualify) qualifiedElsewhere(s *runtime.Scope, v *variant.Variant) bool {
	passed := func(id string) bool {
		d := s.Outcome(id)
		return d != nil && d.Verdict == verdict.Pass && maps.Equal(d.Variant, v.Knobs)
	}
	if q.feature.Engine != "" || passed(runtime.BaselineID) {
		return q.feature.Engine == ""
	}
	for _, f := range slices.Backward(q.lab.Variants.Plan.Candidates()) { // a stack is mostly its last feature's
		if f.Engine == "" && f.Name != q.feature.Name && passed(runtime.QualifyID(f.Name)) {
			return true
		}
	}
	return false
}

// qualifyKey covers the variants, the levels with their settings, and the machine.
func (l *Lab) qualifyKey(protocol *plans.Protocol, vs ...*variant.Variant) string {
	var parts []any
	for _, v := range vs {
		parts = append(parts, v.Key, l.Variants.EvidenceKey(v))
		if protocol.Level(levels.Profile) != nil {
			parts = append(parts, v.Profiler)
		}
	}
	parts = append(parts, levelParts(l.Variants.Plan, protocol)...)
	return l.Variants.SecretDigest("qualify", variant.MeasuringVersion, l.Variants.MachineKey, parts)
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

var _ = []runtime.Preparer{(*qualify)(nil), (*benchmark)(nil), (*rows)(nil)}
