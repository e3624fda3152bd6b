package session

import (
	"context"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// table are the rounds of a comparison, which its rows need until they break.
type table struct {
	rounds
	*comparison
	step    *compare
	entries map[*variant.Variant]*gates.Contender
	out     *ledger.Decision
	// used are the launches of each row that represent its slots.
	used map[*variant.Variant][]*ledger.Launch
	// broke are the rows with a broken launch, and highest is the highest order of a
	// launch so far.
	broke   map[*variant.Variant]bool
	highest int
}

// table makes the rounds of a comparison, with those already made.
func (c *compare) table(ctx context.Context, s *runtime.Scope, it *comparison, entries map[*variant.Variant]*gates.Contender, out *ledger.Decision) (*table, error) {
	t := &table{
		rounds:     rounds{lab: c.lab, scope: s, id: it.session, all: slices.Clone(it.have)},
		comparison: it, step: c, entries: entries, out: out, broke: map[*variant.Variant]bool{},
	}
	b := &benchmark{lab: c.lab}
	t.by, t.launch = t, func(ctx context.Context, sl slot, total int, tries []*ledger.Launch) (*ledger.Launch, error) {
		return b.one(ctx, s, t.id, sl, total, it.workloads, tries)
	}
	t.resume()
	return t, t.divide(ctx, it.variants)
}

// resume loads earlier rounds: a row that broke then stays broken.
func (t *table) resume() {
	for _, sl := range t.slots {
		if tries := sl.of(t.all); !lacks(tries) && !standing(tries).OK {
			t.broke[sl.variant] = true
		}
	}
	for _, l := range t.all {
		t.highest = max(t.highest, l.Order)
	}
}

// ahead reports whether the cells of a matrix are qualified before the first round, in
// which others run beside it.
func (t *table) ahead() bool { return t.sideBySide() > 1 }

// qualify runs the levels of the protocol, once in an apply.
func (t *table) qualify(ctx context.Context, v *variant.Variant) error {
	if t.matrix != nil {
		t.matrix.qualified[v] = true
	}
	return t.step.qualify(ctx, t.scope, t.comparison, v, t.entries[v], t.out)
}

// measure makes the launches that the session lacks, for all qualified rows. One whose
// launch breaks drops out, and the others continue.
func (t *table) measure(ctx context.Context) error {
	if err := t.run(ctx, 1); err != nil {
		return err
	}
	t.have = t.all
	used, rests, broke := t.gather(t.entries)
	if broke != nil {
		t.out.LogTail, t.out.Exit = broke.LogTail, broke.Exit
	}
	t.used = used
	// In the order in which they were made, without those whose round was restarted.
	t.out.Launches = slices.DeleteFunc(t.out.Launches, func(id string) bool {
		return !slices.Contains(rests, id) && slices.ContainsFunc(t.all, func(l *ledger.Launch) bool { return l.ID == id })
	})
	for _, id := range rests {
		if !slices.Contains(t.out.Launches, id) {
			t.out.Launches = append(t.out.Launches, id)
		}
	}
	return nil
}

// last implements demand.
func (t *table) last(int) (int, error) { return t.Launches, nil }

// arms implements demand. What the machine disturbed each time is not repeated with its
// round.
func (t *table) arms(round int) []*variant.Variant {
	return slices.DeleteFunc(slices.Clone(t.variants), func(v *variant.Variant) bool {
		tries := slot{variant: v, ordinal: round}.of(t.all)
		return t.broken(v) || !lacks(tries) && !slices.ContainsFunc(tries, decide.Sound)
	})
}

// broken reports whether a row has dropped out.
func (t *table) broken(v *variant.Variant) bool { return t.entries[v].Broken != "" || t.broke[v] }

// needs implements demand. The cells of a matrix are qualified when their turn comes.
func (t *table) needs(ctx context.Context, sl slot) (bool, error) {
	e, m := t.entries[sl.variant], t.matrix
	if t.broken(sl.variant) {
		return false, nil
	}
	for _, l := range sl.of(t.all) {
		if decide.Sound(l) && l.Place.Same(sl.place) {
			return false, t.done(sl, l)
		}
	}
	if m != nil && !t.launched(sl.variant) && !m.qualified[sl.variant] {
		if err := t.qualify(ctx, sl.variant); err != nil {
			return false, err
		}
	}
	return e.Broken == "", nil
}

// fill implements demand. Launches have their planned order, unless something was
// repeated or ran beside them.
func (t *table) fill(sl *slot, _ []*ledger.Launch) (total int) {
	at := slices.IndexFunc(t.slots, func(o slot) bool { return o.variant == sl.variant && o.ordinal == sl.ordinal })
	t.highest = max(t.highest+1, t.slots[at].order)
	sl.number, sl.order = t.slots[at].number, t.highest
	if sl.variant.Command == nil {
		sl.prompts = t.prompts
	}
	return len(t.slots)
}

// again implements demand.
func (t *table) again(*ledger.Launch) bool { return false }

// done implements demand: a row is broken if one of its launches is.
func (t *table) done(sl slot, launch *ledger.Launch) error {
	t.out.Launches = append(t.out.Launches, launch.ID)
	t.broke[sl.variant] = t.broke[sl.variant] || !launch.OK
	return nil
}
