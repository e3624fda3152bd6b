package replay

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Evaluator decides levels again from what their launches keep: a levels.Evaluator, as this
// package knows no engines.
type Evaluator interface {
	// Blocks are a protocol's levels for a launch.
	Blocks(p *plans.Plan, protocol *plans.Protocol, l *ledger.Launch) []*plans.Block
	// Level is the verdict on a level, with the numbers that it finds, by address. A
	// *verdict.Fault of code.LevelUnreplayed means that too little is kept of it.
	Level(p *plans.Plan, b *plans.Block, l *ledger.Launch, against []*ledger.Launch) (verdict.Verdict,
		map[string]measure.Summary, error)
	Sessions
}

// decideLevels decides the levels of a decision again, and from them the whole of a
// qualification.
func (r *Replay) decideLevels(out *Replayed, d ledger.Decided) {
	plan := r.planOf(d.Run)
	var protocol *plans.Protocol
	if plan.exact {
		protocol = protocolOf(plan.res.Plan, d.Decision)
	}
	switch {
	case len(d.Levels) == 0:
		out.Outcome, out.Why = Unruled, verdict.New(code.NoRule).From(first(d.Why())...)
		return
	case protocol == nil || r.Evaluator == nil:
		out.withoutPlan(plan)
		for _, l := range d.Levels {
			out.Unreplayed = append(out.Unreplayed, l.Name)
		}
		return
	}
	out.Rules = RulesOfLevels
	var joined []verdict.Verdict
	for i, l := range d.Levels {
		of, _ := rowOf(l)
		before := i - 1
		skipped := i > 0 && !decide.Qualified(d.Levels[before:i]) &&
			(l.Verdict == verdict.Invalid || l.Verdict == verdict.Inconclusive && d.Levels[before].Verdict == l.Verdict)
		if skipped {
			if row, _ := rowOf(d.Levels[before]); row == of {
				joined = append(joined, l.Verdict) // it was not run
				continue
			}
		}
		v, err := r.level(out, plan.res.Plan, protocol, l)
		if err != nil {
			out.Outcome, out.Why = Broken, verdict.OfError(err)
			return
		}
		if l.Verdict = v; !decide.LosesAccuracy(l) {
			joined = append(joined, v)
		}
	}
	r.compareLevelSets(out, plan.res.Plan, protocol, d)
	if d.Kind == ledger.KindQualify {
		if out.Verdict = verdict.Join(joined...); out.Verdict != d.Verdict {
			out.differ("decision", "verdict", string(d.Verdict), string(out.Verdict))
		}
	}
	switch out.Outcome = Agrees; {
	case len(out.Differences) > 0:
		out.Outcome = Differs
	case len(out.Unreplayed) == len(d.Levels):
		out.Outcome = Unreplayed
	}
}

// rowOf splits a level's name into the row, if a decision has levels of several variants,
// and the level.
func rowOf(l ledger.Level) (row, name string) {
	at := strings.LastIndex(l.Name, "/")
	return l.Name[:max(at, 0)], l.Name[at+1:]
}

// protocolOf is the protocol of a decision's levels; nil if the plan has none.
func protocolOf(p *plans.Plan, d *ledger.Decision) *plans.Protocol {
	if d.Node == runtime.BaselineID {
		return p.Protocol(p.Baseline.Protocol)
	}
	if f := candidateNamed(p, runtime.CandidateOf(d.Node)); f != nil && d.Kind == ledger.KindQualify {
		return p.Protocol(f.Protocol)
	}
	if b := stepOf(p, d.Node); b != nil {
		name, _ := b.Attrs["protocol"].(string)
		return p.Protocol(name)
	}
	return nil
}

// level decides one level again. One that cannot be keeps its verdict, and is named.
func (r *Replay) level(out *Replayed, p *plans.Plan, protocol *plans.Protocol, l ledger.Level) (verdict.Verdict,
	error,
) {
	if l.Launch == "" && l.Verdict != verdict.Pass {
		return r.unreplayed(out, l) // there was nothing to compare it with, so it was not launched
	}
	launch, ok := r.store.LaunchByID(l.Launch)
	if !ok {
		return "", &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(l.Launch)}
	}
	_, name := rowOf(l)
	block := plans.Find(r.Evaluator.Blocks(p, protocol, launch), func(b *plans.Block) bool { return b.Level() == name })
	var replayed verdict.Verdict
	var numbers map[string]measure.Summary
	switch {
	case block == nil && !decide.Usable(launch):
		replayed, _ = decide.NotCounted(launch) // the engine was seen to be forced
	case block == nil, !launch.OK && l.Verdict != verdict.Pass:
		return r.unreplayed(out, l)
	default:
		var against []*ledger.Launch
		for _, id := range l.Against {
			other, ok := r.store.LaunchByID(id)
			if !ok {
				return "", &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded).On(id)}
			}
			against = append(against, other)
		}
		var err error
		replayed, numbers, err = r.Evaluator.Level(p, block, launch, against)
		fault := (*verdict.Fault)(nil)
		switch {
		case errors.As(err, &fault) && fault.Reason.Kind == code.LevelUnreplayed.Kind,
			err != nil && l.Verdict != verdict.Pass && l.Verdict != verdict.Fail:
			return r.unreplayed(out, l)
		case errors.As(err, &fault):
			return "", err
		case err != nil:
			return "", &verdict.Fault{Reason: verdict.Say("replay.level_unkept",
				"the evidence of level {subject} was not kept: {error}",
				verdict.Err(err)).On(l.Name)}
		}
		r.numbers(out, launch, block, numbers)
	}
	if replayed != l.Verdict {
		out.differ("level "+l.Name, "verdict", string(l.Verdict), string(replayed))
	}
	return replayed, nil
}

func (r *Replay) unreplayed(out *Replayed, l ledger.Level) (verdict.Verdict, error) {
	out.Unreplayed = append(out.Unreplayed, l.Name)
	return l.Verdict, nil
}

// numbers compares a level's recorded numbers of a launch with those found again.
func (r *Replay) numbers(out *Replayed, l *ledger.Launch, b *plans.Block, replayed map[string]measure.Summary) {
	tolerance := r.tolerance(out, r.arch[l.ID])
	all := maps.Clone(replayed)
	for address, s := range l.Metrics {
		if strings.HasPrefix(address, plans.LevelAddress(b.Level(), "")) {
			all[address] = s
		}
	}
	for _, address := range slices.Sorted(maps.Keys(all)) {
		was, recorded := l.Metrics[address]
		now, there := replayed[address]
		compareJSON(out, "launch "+l.ID, address, only(was, recorded), only(now, there), tolerance)
	}
}

// only is a value, or nil if there is none.
func only[T any](v T, there bool) any {
	if !there {
		return nil
	}
	return v
}

// compareLevelSets compares the levels that passed with the protocol's: a missing one has not
// passed.
func (r *Replay) compareLevelSets(out *Replayed, p *plans.Plan, protocol *plans.Protocol, d ledger.Decided) {
	rows := map[string][]ledger.Level{}
	for _, l := range d.Levels {
		row, _ := rowOf(l)
		rows[row] = append(rows[row], l)
	}
	if own := rows[""]; d.Kind == ledger.KindQualify && d.Verdict == verdict.Pass && len(own) == 0 {
		out.differ("decision", "levels", "of others", "its own")
	}
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		levels := rows[row]
		launch, ok := r.store.LaunchByID(levels[0].Launch)
		if !ok || slices.ContainsFunc(levels, func(l ledger.Level) bool { return l.Verdict != verdict.Pass }) {
			continue
		}
		for _, b := range r.Evaluator.Blocks(p, protocol, launch) {
			if !slices.ContainsFunc(levels, func(l ledger.Level) bool {
				_, name := rowOf(l)
				return name == b.Level() && l.Launch == launch.ID
			}) {
				out.differ("level "+strings.TrimPrefix(row+"/"+b.Level(), "/"), "verdict", "absent",
					"required by protocol "+protocol.Name)
			}
		}
		if row == "" && d.Kind == ledger.KindQualify && !maps.Equal(launch.Knobs, d.Variant) {
			out.differ("decision", "variant", jsonText(d.Variant), jsonText(launch.Knobs))
		}
	}
}
