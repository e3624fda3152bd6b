package replay

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Sessions lets an Evaluator decide the outcome of launches beside each other again.
type Sessions interface {
	// Counts returns a launch with what its samples show about whether it counts, and the
	// reasons not to that only the ledger shows; false if too little is kept of it.
	Counts(p *plans.Plan, l *ledger.Launch, kept measure.Recording) (replayed *ledger.Launch,
		alone []verdict.Reason, known bool)
	// Benchmark is the outcome of a session's launches for a feature.
	Benchmark(v *decide.View, f *plans.Feature, session string, all []*ledger.Launch) (*ledger.Decision, error)
	// Rows is the outcome of a session's launches for the rows of a step; nothing was launched for unknown ones.
	Rows(v *decide.View, b *plans.Block, d *ledger.Decision, all []*ledger.Launch) (replayed *ledger.Decision,
		unknown []string, err error)
	// Printed are the numbers that a step's program printed; false for a step that reads
	// none.
	ProgramNumbers(b *plans.Block, l *ledger.Launch) (found map[string]measure.Summary, reads bool, err error)
}

// What decisions about sessions and steps rest on that only the ledger shows.
const (
	onlyBroken = "launches that broke, or whose engine was forced to accept drafts"
	onlySource = "states of source trees"
	onlyRow    = "rows that were not launched"
	onlyExit   = "exit statuses of steps"
	onlyCounts = "whether launches count"
)

// stepReplayable reports whether any part of a step can be decided again.
func (r *Replay) stepReplayable(d *ledger.Decision) bool {
	return d.Kind == ledger.KindStep &&
		(len(d.Rows) > 0 || len(d.Levels) > 0 || slices.ContainsFunc(d.Launches, func(id string) bool {
			l, ok := r.store.LaunchByID(id)
			return ok && l.Purpose == ledger.ForStep && l.Output != ""
		}))
}

// ledgerOnly notes what else the decision rests on.
func (out *Replayed) ledgerOnly(what string) {
	if !slices.Contains(out.LedgerOnly, what) {
		out.LedgerOnly = append(out.LedgerOnly, what)
	}
}

// conclude sets the outcome of the comparisons made.
func (out *Replayed) conclude() {
	if out.Outcome = Agrees; len(out.Differences) > 0 {
		out.Outcome = Differs
	}
}

// fail sets the outcome if something could not be decided again.
func (out *Replayed) fail(err error) {
	out.Outcome, out.Why = Unreplayed, verdict.OfError(err)
	if fault, ok := errors.AsType[*verdict.Fault](err); errors.Is(err, fs.ErrNotExist) ||
		ok && fault.Reason.Kind == code.NoRawData.Kind {
		out.Outcome = Broken
	}
}

// decideSession decides again what came of a session: which launches count, and what follows for a feature, or
// for the rows of a step. It reports whether it could.
func (r *Replay) decideSession(
	out *Replayed, p *plans.Plan, d ledger.Decided,
	judge func(all []*ledger.Launch) (*ledger.Decision, []string, error),
) bool {
	var all []*ledger.Launch
	asked := store.LaunchFilter{Session: d.Session + "." + ledger.ForAgreement}
	for _, l := range slices.Concat(r.store.Launches(store.LaunchFilter{Session: d.Session}), r.store.Launches(asked)) {
		if r.recorded[l.ID] > d.Record {
			continue // the session continued
		}
		replayed, err := r.launchOf(out, p, l.ID)
		if err != nil {
			out.fail(err)
			return false
		}
		all = append(all, replayed)
	}
	replayed, unknown, err := judge(all)
	if err != nil {
		out.fail(err)
		return false
	}
	if len(unknown) > 0 {
		out.ledgerOnly(onlyRow)
	}
	was, is := sorted(d.Launches), sorted(replayed.Launches)
	if d.Kind == ledger.KindStep { // it names those that qualified rows, too
		was = slices.DeleteFunc(was, func(id string) bool {
			l, ok := r.store.LaunchByID(id)
			return ok && l.Session != d.Session
		})
	}
	if !slices.Equal(was, is) {
		out.differ("decision", "launches", jsonText(was), jsonText(is))
	}
	if len(d.Rows) > 0 {
		tolerance := r.tolerance(out, r.runs[d.Run].Environment["arch"])
		compareJSON(out, "rows", "", rowsWithoutTexts(d.Rows), rowsWithoutTexts(replayed.Rows), tolerance)
		compareJSON(out, "effects", "", d.Effects, replayed.Effects, tolerance)
	}
	out.Verdict = replayed.Verdict
	switch was, is := why(d.Decision), why(replayed); {
	case was.Kind == code.TreeMovedBefore.Kind:
		out.ledgerOnly(onlySource)
		out.Verdict = d.Verdict
	case replayed.Verdict != d.Verdict:
		out.differ("decision", "verdict", string(d.Verdict), string(replayed.Verdict))
	case len(d.Rows) == 0 && was.Key() != is.Key(): // rows have reasons of their own
		out.differ("decision", "reason", string(was.Kind), string(is.Kind))
	}
	return true
}

// decideBenchmark decides again which launches of a session count for a feature, and
// whether they are comparable: whether arms did the same work, whether their answers are
// text, and whether they prove their knobs and differ in nothing else.
func (r *Replay) decideBenchmark(out *Replayed, d ledger.Decided) {
	plan := r.planOf(d.Run)
	var f *plans.Feature
	if plan.exact {
		f = candidateNamed(plan.res.Plan, runtime.CandidateOf(d.Node))
	}
	if f == nil || r.Evaluator == nil {
		out.withoutPlan(plan)
		return
	}
	out.Rules = RulesOfPlan
	at := r.viewAt(out, d, plan.res.Plan, plan.graph)
	if d.Derived {
		r.decideUnlaunched(out, d, at.Outcome(runtime.QualifyID(f.Name)))
		return
	}
	if r.decideSession(out, plan.res.Plan, d, func(all []*ledger.Launch) (*ledger.Decision, []string, error) {
		replayed, err := r.Evaluator.Benchmark(at.view, f, d.Session, all)
		return replayed, nil, err
	}) {
		out.conclude()
	}
}

// why is the first reason of a decision that did not pass.
func why(d *ledger.Decision) verdict.Reason {
	if d.Verdict == verdict.Pass || len(d.Reasons) == 0 {
		return verdict.Reason{}
	}
	return d.Reasons[0]
}

// withoutPlan is the outcome if there is no plan to decide by.
func (out *Replayed) withoutPlan(plan *recordedPlan) {
	out.Outcome = Unreplayed
	if out.Why = plan.why; plan.res != nil {
		out.Why = verdict.New(code.PlanInexact, plan.lacking()...)
	}
}

// decideUnlaunched decides a benchmark again for which nothing was launched.
func (r *Replay) decideUnlaunched(out *Replayed, d ledger.Decided, q *ledger.Decision) {
	switch {
	case q != nil && q.Verdict != verdict.Pass:
		if out.Verdict, _ = decide.Broken(q); out.Verdict != d.Verdict {
			out.differ("decision", "verdict", string(d.Verdict), string(out.Verdict))
		}
		out.conclude()
	case d.Verdict == verdict.Pass:
		out.differ("decision", "launches", "none", "some, as it passed")
		out.conclude()
	default:
		out.Outcome, out.Why = Unreplayed, why(d.Decision)
	}
}

// launchOf is a launch as its raw data show it: its metrics, and whether it counts. What
// was recorded otherwise is among the differences.
func (r *Replay) launchOf(out *Replayed, p *plans.Plan, id string) (*ledger.Launch, error) {
	l, err := r.recomputeLaunch(out, id)
	if err != nil || !l.OK || l.Purpose != ledger.ForBenchmark {
		if err == nil && !l.OK {
			out.ledgerOnly(onlyBroken)
		}
		return l, err
	}
	kept, err := recordingOf(r.store, l)
	if err != nil {
		return nil, err
	}
	replayed, alone, known := r.Evaluator.Counts(p, l, kept)
	if !known {
		out.ledgerOnly(onlyCounts)
		return l, nil
	}
	if len(alone) > 0 {
		out.ledgerOnly(onlyBroken)
	}
	for _, c := range []struct {
		what    string
		was, is []verdict.Reason
	}{{"invalid", l.Invalid, replayed.Invalid}, {"incoherent", l.Incoherent, replayed.Incoherent}} {
		if was, is := keys(c.was), keys(c.is); !slices.Equal(was, is) {
			out.differ("launch "+id, c.what, jsonText(was), jsonText(is))
		}
	}
	if l.Output != "" {
		compareJSON(out, "launch "+id, "", l.Metrics, replayed.Metrics, r.tolerance(out, r.arch[id]))
	}
	if l.Disturbed != replayed.Disturbed {
		out.differ("launch "+id, "disturbed", yesNo(l.Disturbed), yesNo(replayed.Disturbed))
	}
	return replayed, nil
}

// keys are reasons without their words, sorted: the order in which causes were found
// means nothing.
func keys(all []verdict.Reason) (keys []string) {
	for _, r := range all {
		keys = append(keys, r.Key())
	}
	slices.Sort(keys)
	return keys
}

// decideStep decides a step again: the levels and rows of a comparison, and the
// numbers that a program printed.
func (r *Replay) decideStep(out *Replayed, d ledger.Decided) {
	if len(d.Levels) > 0 {
		r.decideLevels(out, d)
		if out.Outcome == Broken || out.Rules == "" {
			return
		}
	}
	plan := r.planOf(d.Run)
	var b *plans.Block
	if plan.exact {
		b = stepOf(plan.res.Plan, d.Node)
	}
	if b == nil || r.Evaluator == nil {
		out.withoutPlan(plan)
		return
	}
	out.Rules = RulesOfPlan
	judge := func(all []*ledger.Launch) (*ledger.Decision, []string, error) {
		return r.Evaluator.Rows(r.viewAt(out, d, plan.res.Plan, plan.graph).view, b, d.Decision, all)
	}
	if len(d.Rows) > 0 && !r.decideSession(out, plan.res.Plan, d, judge) {
		return
	}
	for _, id := range d.Launches {
		l, ok := r.store.LaunchByID(id)
		if !ok || l.Purpose != ledger.ForStep {
			continue
		}
		found, reads, err := r.Evaluator.ProgramNumbers(b, l)
		if err != nil {
			out.fail(err)
			return
		}
		out.ledgerOnly(onlyExit)
		if reads {
			compareJSON(out, "launch "+id, "", l.Metrics, found, r.tolerance(out, r.arch[id]))
		}
	}
	out.conclude()
}

// rowsWithoutTexts are rows without what only goes into words.
func rowsWithoutTexts(rows []verdict.Row) (out []verdict.Row) {
	for _, row := range rows {
		row.Why, row.Notes = verdict.Reason{}, nil
		out = append(out, row)
	}
	return out
}

// stepOf is the block of a step of a plan, by its node.
func stepOf(p *plans.Plan, node string) *plans.Block {
	for _, ph := range p.Phases {
		for _, b := range ph.Steps {
			if runtime.StepID(ph.Name, b.Kind, b.Name) == node {
				return b
			}
		}
	}
	return nil
}
