package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/variant"
)

// rows is a step that measures rows beside a reference: engines (compare), or combinations of knobs (matrix).
type rows struct {
	lab   *Lab
	block *plans.Block
}

// table is the work of such a step, all names resolved: a session with a member for each row, which is the
// reference and the row.
type table struct {
	*session
	plans.ComparisonContent
	protocol *plans.Protocol
	// fit are the workloads of which all rows are sent the same prompts.
	fit []string
	// sets are the knob values in which cells differ from the baseline, by row.
	sets map[string]map[string]string
	// measured sums up what came of the step, given how many rows have numbers.
	measured func(rows int, v verdict.Verdict) []verdict.Reason
	// rows are those of members, the reference first.
	rows []*row
}

// row is a member with what its levels found, as the table shows it.
type row struct {
	*member
	entry gates.Contender
	// crashed is set if its engine did when it was qualified.
	crashed bool
}

// arm is what a row starts.
type arm struct {
	name, engine string
	knobs        map[string]string
}

// table resolves what the step measures. This is where the two kinds of step differ.
func (r *rows) table(s *runtime.Scope) (*table, error) {
	return r.tableOf(&session{lab: r.lab, view: r.lab.Launches.View(s), scope: s},
		func(a arm) (*variant.Variant, error) {
			v, err := r.lab.Variants.Resolve(s, a.name, a.engine, a.knobs)
			if err == nil {
				v = v.AsRow()
				r.lab.Variants.UpdateKey(v)
			}
			return v, err
		})
}

func (r *rows) tableOf(s *session, resolve func(a arm) (*variant.Variant, error)) (*table, error) {
	t := &table{session: s}
	armsOf := t.compared
	if r.block.Kind == plans.MatrixStep {
		armsOf = t.cells
	}
	arms, err := armsOf(r.block)
	if err != nil {
		return nil, err
	}
	if t.protocol = r.lab.Variants.Plan.Protocol(t.Protocol); t.protocol == nil {
		return nil, fmt.Errorf("there is no protocol %q", t.Protocol)
	}
	for _, name := range r.lab.Variants.Plan.SentWorkloads(r.block) {
		t.ws = append(t.ws, r.lab.Variants.Plan.Workload(name))
	}
	t.work = r.lab.Variants.WorkKey(t.ws)
	at := slices.IndexFunc(arms, func(a arm) bool { return a.name == t.Reference })
	for _, a := range slices.Concat(arms[at:at+1], arms[:at], arms[at+1:]) { // the reference first
		v, err := resolve(a)
		if err != nil {
			return nil, fmt.Errorf("engine.%s: %w", a.engine, err)
		}
		t.enter(v)
	}
	return t, nil
}

// enter adds a row; the first is the reference.
func (t *table) enter(v *variant.Variant) {
	arms, launched := launch.Arms{Candidate: v}, []*variant.Variant{v}
	if len(t.members) > 0 {
		arms.Parent = t.members[0].variant()
		launched = []*variant.Variant{arms.Parent, v}
	}
	f := &plans.Feature{Name: v.Name, Protocol: t.Protocol, Trial: true}
	m := &member{Member: decide.NewRow(f, arms.ArmKeys(), keysOf(launched), t.Launches), variants: launched}
	t.members = append(t.members, m)
	t.rows = append(t.rows, &row{member: m, entry: gates.Contender{Arm: gates.Arm{Name: v.Name}}})
}

func (t *table) variants() (vs []*variant.Variant) {
	for _, m := range t.members {
		vs = append(vs, m.variant())
	}
	return vs
}

// resume is the table with the session that it continues.
func (r *rows) resume(s *runtime.Scope) (*table, error) {
	t, err := r.table(s)
	if err != nil {
		return nil, err
	}
	if t.id, err = r.lab.sessionOfRows(s, len(t.rows)*t.Launches); err != nil {
		return nil, err
	}
	t.all = r.lab.session(t.id)
	if i := slices.IndexFunc(t.all, func(l *ledger.Launch) bool { return l.Prompts != "" }); i >= 0 {
		t.prompts = t.all[i].Prompts
	}
	return t, nil
}

// Prepare implements runtime.Preparer. An engine whose image is unavailable becomes a row that says so, which
// its launch handles; but an outcome is not reused if it is unknown whether an image is still the same.
func (r *rows) Prepare(ctx context.Context, s *runtime.Scope) error {
	t, err := r.table(s)
	if err != nil {
		return nil // Derive reports it
	}
	var failed error
	for _, v := range t.variants() {
		if err := r.lab.Launches.Fetch(ctx, v); failed == nil {
			failed = err
		}
	}
	if s.Previous == nil || !s.Previous.Verdict.Reusable() {
		return nil
	}
	return failed
}

// Derive implements runtime.Step: the outcome on record, or a qualification of each row that is not measured,
// and the launches that the session lacks. Asking for more launches continues the same session, as in a
// benchmark. The reference determines the prompts, so it is part of the identity.
func (r *rows) Derive(s *runtime.Scope) (*runtime.Derived, error) {
	t, err := r.table(s)
	if err != nil {
		return nil, err
	}
	by := append([]any{"launches", t.Launches, decide.Version, "answers"}, answersKey(t.ws)...)
	if len(t.Optional) > 0 {
		by = append(by, t.Optional)
	}
	vs := t.variants()
	out := &runtime.Derived{
		Key:      runtime.Digest("compare", r.lab.Variants.BenchmarkKey(t.ws, vs), r.lab.qualifyKey(t.protocol, vs...)),
		RulesKey: runtime.Digest(by...),
	}
	p, why := s.Recorded(out.Key, verdict.Reason{})
	switch {
	case p == nil:
		out.Why = why
	case p.DecisionKey == out.RulesKey:
		out.Outcome = p
		return out, nil
	default:
		out.Why = verdict.Say("rules_changed", "rules changed")
	}
	if t, err = r.resume(s.With(out.Key, out.RulesKey)); err != nil {
		return nil, err
	}
	for _, v := range vs {
		if !t.launched(v) && len(levels.Of(t.protocol, v)) > 0 {
			out.Launches = append(out.Launches, qualifying(v, t.protocol))
		}
	}
	if !t.launched(vs[0]) && vs[0].Command == nil && t.protocol.Level(levels.Correctness) != nil {
		out.Launches = append(out.Launches, plannedLaunch(vs[0], ledger.ForReference, ""))
	}
	if err := t.lookAtMembers(); err != nil {
		return nil, err
	}
	out.Launches = r.lab.markExclusive(append(out.Launches, t.missing()...), vs)
	return out, nil
}

// Do implements runtime.Step.
func (r *rows) Do(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	t, err := r.resume(s)
	if err != nil {
		return nil, err
	}
	out := &ledger.Decision{Session: t.id}
	if err := t.divide(ctx); err != nil {
		return nil, err
	}
	for _, row := range t.rows {
		if err := t.qualify(ctx, row, out); err != nil {
			return nil, err
		}
	}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	return out, t.decide(ctx, out)
}

// launched reports whether a variant was launched in the session.
func (s *session) launched(v *variant.Variant) bool {
	return slices.ContainsFunc(s.all, func(l *ledger.Launch) bool { return l.VariantKey == v.Key })
}

// qualify runs the levels of the protocol in a launch of their own, against the reference where a level
// compares; a row that was measured in this session keeps what it was qualified by. The first row that passes
// makes the prompts of all.
func (t *table) qualify(ctx context.Context, r *row, out *ledger.Decision) error {
	v := r.variant()
	var fit []string
	if t.prompts == "" && v.Command == nil {
		fit = t.fit
	}
	var found []ledger.Level
	var launch *ledger.Launch
	if t.launched(v) && len(fit) == 0 {
		launch = levels.Recorded(t.scope, t.lab.Launches, v)
	}
	if launch != nil {
		found = launch.Levels
	} else {
		reference, many := t.members[0].variant(), 1 // a launch of its own shows how far apart its launches are
		var parent levels.Parent
		if v != reference {
			many = 2
			of := store.LaunchFilter{VariantKey: reference.Key, Purpose: ledger.ForQualification, OK: true}
			for _, l := range t.lab.Launches.Store.Launches(of) {
				parent.Qualified = l // the newest
			}
		}
		var err error
		parent.Answered, err = levels.References(ctx, t.scope, t.lab.Launches, t.protocol, reference, many, out)
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			// Without the reference's answers nothing is known of its own.
			level := ledger.Level{Name: v.Name + "/" + levels.Correctness, Verdict: verdict.Error}
			level.Reasons = []verdict.Reason{verdict.OfError(err)}
			t.drop(r, verdict.Error, level.Reasons[0])
			out.Levels = append(out.Levels, level)
			return nil
		}
		found, launch, err = levels.Run(ctx, t.scope, t.lab.Launches, t.protocol, v, parent, fit, nil, out)
		if err != nil {
			return err
		}
	}
	if len(found) == 0 {
		t.drop(r, verdict.Invalid, verdict.Say("compare.not_qualifying",
			`protocol {subject} has no level that qualifies it; add level "smoke"`).On(t.Protocol))
	}
	t.qualified(r, found, launch)
	if r.entry.Verdict == "" && len(fit) > 0 {
		t.prompts = launch.Prompts
	}
	for _, l := range found {
		l.Name = v.Name + "/" + l.Name
		out.Levels = append(out.Levels, l)
	}
	return nil
}

// dropped reports whether a row has no numbers.
func (r *row) dropped() bool { return r.entry.Verdict != "" && !r.entry.Marked }

// drop takes a row out of the session.
func (t *table) drop(r *row, v verdict.Verdict, why verdict.Reason) {
	r.entry.Verdict, r.entry.Why, r.entry.Marked, r.Open = v, why, false, false
	for _, m := range t.members {
		m.DropArm(r.variant().Key, why)
	}
}

// qualified drops a row by the first of its levels that did not pass, or marks it.
func (t *table) qualified(r *row, all []ledger.Level, launch *ledger.Launch) {
	r.crashed = r.crashed || launch != nil && launch.Crashed()
	for _, l := range all {
		e := &r.entry
		switch broken, why := decide.Broken(&ledger.Decision{Verdict: l.Verdict, Levels: []ledger.Level{l}}); {
		case l.Verdict == verdict.Pass, r.dropped():
		case !levels.Marks(t.protocol, l) && l.Verdict == verdict.Invalid && e.Marked: // it was skipped
			t.drop(r, e.Verdict, e.Why)
		case !levels.Marks(t.protocol, l):
			t.drop(r, broken, why)
		case !e.Marked:
			e.Verdict, e.Why, e.Marked = broken, why, true
		}
	}
}

// decide decides all rows by the launches that there are, and from them the step.
func (t *table) decide(ctx context.Context, out *ledger.Decision) error {
	for _, r := range t.rows { // as the launches show it, whichever apply made them
		r.Launched, r.Lost = keysOf(r.variants), map[string]verdict.Reason{}
	}
	for _, r := range t.rows {
		if r.dropped() {
			t.drop(r, r.entry.Verdict, r.entry.Why)
		}
	}
	if err := t.ended(); err != nil {
		return err
	}
	of := &ledger.Decision{}
	for _, r := range t.rows {
		if err := t.judge(ctx, r, of); err != nil {
			return err
		}
	}
	if of.LogTail != nil {
		out.LogTail, out.Exit = of.LogTail, of.Exit
	}
	for _, l := range t.all { // rows share the reference's
		if slices.Contains(of.Launches, l.ID) {
			out.Launches = append(out.Launches, l.ID)
		}
	}
	ordered := slices.SortedStableFunc(slices.Values(t.rows), func(a, b *row) int { // as in the plan
		return cmp.Compare(slices.Index(t.Engines, a.entry.Name), slices.Index(t.Engines, b.entry.Name))
	})
	var contenders []gates.Contender
	for _, r := range ordered {
		contenders = append(contenders, r.entry)
	}
	out.Rows = gates.Compare(contenders, t.Reference)
	out.Effects = gates.Effects(out.Rows, t.sets)
	var verdicts []verdict.Verdict
	measured, engine := 0, t.rows[0].variant().Engine
	sound := slices.ContainsFunc(out.Rows, func(r verdict.Row) bool { return r.Reference && r.Verdict == verdict.Pass })
	for i, r := range out.Rows {
		if r.Verdict == verdict.Pass || ordered[i].entry.Marked && len(r.Cells) > 0 {
			measured++
		}
		if r.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, verdict.New(code.Outcome).On(r.Name).Is(r.Verdict).From(r.Why))
		}
		if r.Verdict == verdict.Pass || !slices.Contains(t.Optional, r.Name) {
			v := r.Verdict
			if sound && v == verdict.Error && ordered[i].crashed && ordered[i].variant().Engine == engine {
				v = verdict.Fail // knobs with which an engine dies that runs without them are an outcome, which is kept
			}
			verdicts = append(verdicts, v)
		}
	}
	out.Verdict = verdict.Join(verdicts...)
	if out.Verdict == verdict.Pass && measured < 2 {
		out.Verdict = verdict.Error // the rest is compared with nothing
	}
	out.Reasons = append(t.measured(measured, out.Verdict), out.Reasons...)
	return nil
}

// judge decides a row as a feature is decided, by the launches of its rounds.
func (t *table) judge(ctx context.Context, r *row, out *ledger.Decision) error {
	e, v := &r.entry, r.variant()
	if r.dropped() {
		return nil
	}
	var level ledger.Level
	if err := t.conclude(ctx, r.member, out, &level); err != nil {
		return err
	}
	used := r.DecidingLaunches(t.all)
	slices.SortStableFunc(used, func(a, b *ledger.Launch) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	for _, l := range used {
		if l.VariantKey == v.Key {
			e.Launches = append(e.Launches, decide.Measured(l))
		}
		if l.VariantKey == r.variants[0].Key {
			e.Reference = append(e.Reference, decide.Measured(l))
		}
	}
	r.crashed = r.crashed || r.broken != nil && r.broken.Crashed()
	switch {
	case level.Verdict != verdict.Pass:
		e.Verdict, e.Why, e.Marked = level.Verdict, level.Reasons[0], false
	case r.Rounds < r.Most:
		e.Verdict, e.Marked = verdict.Invalid, false // a pass has all of its launches
		e.Why = verdict.Say("row.rounds_missing", "{n} of {most} rounds count",
			verdict.Int("n", r.Rounds), verdict.Int("most", r.Most))
	default:
		e.Notes = slices.DeleteFunc(level.Reasons, func(n verdict.Reason) bool {
			return n.Kind == code.LaunchesPerArm.Kind
		})
		e.Notes = append(e.Notes, otherTokens(e.Launches, e.Reference)...)
	}
	return nil
}

// otherTokens notes the cells whose prompts have another number of tokens by the engine's own count than by the
// reference's: their tok/s are not of the same text.
func otherTokens(own, reference []gates.Launch) (notes []verdict.Reason) {
	if len(own) == 0 || len(reference) == 0 {
		return nil
	}
	for _, address := range slices.Sorted(maps.Keys(own[0].Metrics)) {
		cell, isPrompt := strings.CutSuffix(address, ".prompt_tokens")
		if !isPrompt {
			continue
		}
		mine, ok := own[0].Metrics[address].Stats["median"]
		theirs, known := reference[0].Metrics[address].Stats["median"]
		if ok && known && mine != theirs {
			notes = append(notes, verdict.Say("prompts.tokens",
				"prompts of {subject} are {own} tokens long by its own count, {reference} by the reference's",
				verdict.Int("own", int(math.Round(mine))), verdict.Int("reference", int(math.Round(theirs)))).On(cell))
		}
	}
	return notes
}
