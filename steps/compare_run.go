package steps

import (
	"context"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

// Run implements runtime.Step.
func (c *compare) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	it, err := c.comparison(s)
	if err != nil {
		return nil, err
	}
	slots := interleave(it.variants, it.Launches)
	session, err := c.lab.sessionID(s, len(slots))
	if err != nil {
		return nil, err
	}
	have, err := c.lab.session(session)
	if err != nil {
		return nil, err
	}
	shared := &record.Texts{Set: session}
	if err := shared.Recall(&c.lab.Sender, c.lab.Store, have); err != nil {
		return nil, err
	}
	for i := range slots {
		slots[i].texts = shared
	}
	out := &ledger.Decision{Session: session}
	entries := map[*variant.Variant]*gates.Contender{}
	for _, v := range it.variants {
		e := &gates.Contender{Arm: gates.Arm{Name: v.Name}}
		entries[v] = e
		if launched(have, v) {
			continue // it was qualified before this session was cut
		}
		if err := c.qualify(ctx, s, it, v, e, out); err != nil {
			return nil, err
		}
	}
	if err := c.measure(ctx, s, it, slots, have, entries, out); err != nil {
		return nil, err
	}
	c.decide(it, entries, out)
	return out, nil
}

// launched reports whether a variant was measured in a session.
func launched(have []*ledger.Launch, v *variant.Variant) bool {
	for _, l := range have {
		if l.VariantKey == v.Key {
			return true
		}
	}
	return false
}

// qualify runs the levels of the protocol in a launch of their own.
func (c *compare) qualify(ctx context.Context, s *runtime.Scope, it *comparison, v *variant.Variant, e *gates.Contender, out *ledger.Decision) error {
	levels, err := levels.Run(ctx, s, &c.lab.Lab, it.protocol, v, out)
	if err != nil {
		return err
	}
	if len(levels) == 0 {
		e.Broken, e.Cause = verdict.Invalid, verdict.New(code.NotQualifying).On(it.Protocol)
	}
	for _, l := range levels {
		if l.Verdict != verdict.Pass && e.Broken == "" {
			e.Broken, e.Cause = decide.Broken(&ledger.Decision{Verdict: l.Verdict, Levels: levels})
		}
		l.Name = v.Name + "/" + l.Name
		out.Levels = append(out.Levels, l)
	}
	return nil
}

// measure makes the launches that the session lacks, of all engines that are
// qualified. One whose launch breaks drops out, and the others go on.
func (c *compare) measure(ctx context.Context, s *runtime.Scope, it *comparison, slots []slot, have []*ledger.Launch, entries map[*variant.Variant]*gates.Contender, out *ledger.Decision) error {
	b := &benchmark{lab: c.lab}
	used := map[*variant.Variant][]*ledger.Launch{}
	for _, sl := range slots {
		e := entries[sl.variant]
		if e.Broken != "" {
			continue
		}
		launch := existing(have, sl)
		if launch == nil {
			var err error
			if launch, err = b.one(ctx, s, out.Session, sl, len(slots), it.workloads, nil); err != nil {
				return err
			}
		}
		out.Launches = append(out.Launches, launch.ID)
		if !launch.OK {
			e.Broken, e.Cause = verdict.Error, verdict.New(code.LaunchOf, verdict.Int("number", sl.number), verdict.Int("of", len(slots))).From(launch.Error)
			out.LogTail, out.Exit = launch.LogTail, launch.Exit
			continue
		}
		used[sl.variant] = append(used[sl.variant], launch)
		e.Launches = append(e.Launches, decide.Measured(launch))
	}
	reference := used[it.variants[0]]
	for _, v := range it.variants {
		e := entries[v]
		if e.Broken == "" {
			e.Broken, e.Cause = counts(used[v], reference)
		}
		if moved, why := c.lab.MovedTrees(ctx, used[v], []*variant.Variant{v}, nil); e.Broken == "" && moved != "" {
			e.Broken, e.Cause = moved, why[0]
		}
		if e.Broken == "" {
			if why := c.lab.otherEnvironment(slices.Concat(reference, used[v]), []*variant.Variant{it.variants[0], v}); !why.IsZero() {
				e.Broken, e.Cause = verdict.Invalid, why
			}
		}
		if e.Broken == "" {
			why, err := c.lab.disagree(used[v], []*variant.Variant{v})
			if err != nil {
				return err
			}
			if !why.IsZero() {
				e.Broken, e.Cause = verdict.Invalid, why
			}
		}
		if e.Broken == "" {
			e.Notes = rowNotes(used[v], reference)
		}
	}
	return nil
}

// decide joins the rows to the verdict.
func (c *compare) decide(it *comparison, entries map[*variant.Variant]*gates.Contender, out *ledger.Decision) {
	var contenders []gates.Contender
	for _, v := range it.rows {
		contenders = append(contenders, *entries[v])
	}
	out.Rows = gates.Compare(contenders, it.Reference)
	var verdicts []verdict.Verdict
	for _, r := range out.Rows {
		verdicts = append(verdicts, r.Verdict)
		if r.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, verdict.New(code.Outcome).On(r.Name).Is(r.Verdict).From(r.Why))
		}
	}
	out.Verdict = verdict.Join(verdicts...)
	if out.Verdict == verdict.Pass {
		out.Reasons = verdict.Because(code.Compared, verdict.Int("engines", len(out.Rows)), verdict.Int("launches", it.Launches), verdict.Text("reference", it.Reference))
	}
}
