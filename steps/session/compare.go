package session

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/validity"
	"github.com/mxflow/mxflow/steps/variant"
)

// CompareSchema is the schema of a comparison of engines.
var CompareSchema = plans.Schema{
	Doc: "Measures several engines side by side: the same text, one engine at a time, in fresh launches interleaved by rounds. Each engine is first qualified by the levels of a protocol, against the reference where a level compares. Passes when every row was measured, except those in `optional`. The gates of its phase and later ones read rows against the reference: `compare.frameworks[\"embedded.cached\"].chat.tg.gain >= 1.0`, from 4 launches.",
	Example: `step "compare" "frameworks" {
  engines   = [engine.embedded.plain, engine.embedded.cached]
  reference = engine.embedded.plain
  workloads = [workload.chat]
  protocol  = protocol.standard
  launches  = 3
}`,
	Attrs: []plans.Attr{
		{Name: "engines", Type: plans.Refs, Ref: "engine", Required: true, Doc: "At least two engines, one row each."},
		{Name: "reference", Type: plans.Reference, Ref: "engine", Required: true, Doc: "The engine that speed-ups are relative to. It is launched first, and prompts have the requested length in its tokens."},
		{Name: "optional", Type: plans.Refs, Ref: "engine", Doc: "Engines whose rows are allowed to break: they stay in the table with the reason, and the step passes without them. A rule that reads such a row does not pass."},
		{Name: "workloads", Type: plans.Refs, Ref: "workload", Doc: "What is sent to each engine, in this order; `--suite` sends those of a suite instead. Engines of kind `command` bring their own work."},
		{Name: "protocol", Type: plans.Reference, Ref: "protocol", Required: true, Doc: "Its levels except the benchmark qualify each engine, in one launch that is not measured."},
		{Name: "launches", Type: plans.Int, Default: 3.0, Unit: "launches per engine", Min: 2, MinSet: true, Doc: "Measured launches of each engine. Rules need 4 to 12."},
	},
	Check: plans.Checked(checkCompare),
}

func checkCompare(_ *plans.Block, c compareConfig) (errs []plans.AttrError) {
	if len(c.Engines) < 2 {
		errs = append(errs, plans.AttrError{Attr: "engines", Code: "comparison-of-engines", Summary: "Nothing to compare", Detail: "Name at least two engines, as in engines = [engine.openai.vllm, engine.openai.llamacpp]."})
	}
	if !slices.Contains(c.Engines, c.Reference) {
		errs = append(errs, plans.AttrError{Attr: "reference", Code: "comparison-of-engines", Summary: "Reference is not compared", Detail: fmt.Sprintf("Speed-ups are relative to a row of the table, but engine.%s is not one. Add it to engines, or name one of %s.", c.Reference, strings.Join(c.Engines, ", "))})
	}
	for _, key := range c.Optional {
		switch {
		case key == c.Reference:
			errs = append(errs, plans.AttrError{Attr: "optional", Code: "comparison-of-engines", Summary: "Optional reference", Detail: fmt.Sprintf("Speed-ups are relative to engine.%s, so without it there are none. Remove it from optional.", key)})
		case !slices.Contains(c.Engines, key):
			errs = append(errs, plans.AttrError{Attr: "optional", Code: "comparison-of-engines", Summary: "Optional engine is not compared", Detail: fmt.Sprintf("engine.%s is not a row. Add it to engines, or name some of %s.", key, strings.Join(c.Engines, ", "))})
		}
	}
	servers := slices.ContainsFunc(c.Engines, func(key string) bool { return !strings.HasPrefix(key, "command.") })
	switch {
	case servers && len(c.Workloads) == 0:
		errs = append(errs, plans.AttrError{Code: "comparison-of-engines", Summary: "Comparison sends nothing", Detail: "Set the workloads to send, as in workloads = [workload.chat]."})
	case !servers && len(c.Workloads) > 0:
		errs = append(errs, plans.AttrError{Attr: "workloads", Code: "command-is-no-server", Summary: "Workloads for a command", Detail: "All of these engines are commands, which bring their own work. Remove workloads."})
	}
	return errs
}

type compareConfig struct {
	Engines   []string `json:"engines"`
	Reference string   `json:"reference"`
	Optional  []string `json:"optional"`
	Workloads []string `json:"workloads"`
	Protocol  string   `json:"protocol"`
	Launches  int      `json:"launches"`
}

// compare is a comparison of engines, or a matrix.
type compare struct {
	lab   *Lab
	block *plans.Block
	// recorded makes the variant of a row from what is on record; nil resolves it.
	recorded func(name, engine string, knobs map[string]string) (*variant.Variant, error)
}

// comparison is the work of a compare or matrix step, all names resolved.
type comparison struct {
	compareConfig
	protocol  *plans.Protocol
	workloads []*plans.Workload
	// matrix is set if the rows are combinations of knobs.
	matrix *matrix
	// variants are the engines, the reference first; rows in the plan's order.
	variants, rows []*variant.Variant
	// prompts is the digest of those sent to all engines, as each counts tokens in its
	// own way; empty until they are made, and in a matrix, whose cells are of one engine
	// and get their own prompts in every launch.
	prompts string
	// session is the one that it continues, slots how many launches that takes and how
	// many it has.
	session string
	slots   []slot
	have    []*ledger.Launch
}

func (c *compare) comparison(s *runtime.Scope) (*comparison, error) {
	out := &comparison{}
	if c.block.Kind == plans.MatrixStep {
		return out, c.combine(s, out)
	}
	if err := c.block.Decode(&out.compareConfig); err != nil {
		return nil, err
	}
	if err := c.named(out); err != nil {
		return nil, err
	}
	for _, key := range out.Engines {
		var knobs map[string]string
		if b := c.lab.Plan.Baseline; b != nil && b.Engine == key {
			knobs = c.lab.Plan.DefaultKnobs()
		}
		if err := c.row(s, out, key, key, knobs); err != nil {
			return nil, fmt.Errorf("engine.%s: %w", key, err)
		}
	}
	return out, nil
}

// named resolves what the step names.
func (c *compare) named(out *comparison) error {
	out.protocol = c.lab.Plan.Protocol(out.Protocol)
	if out.protocol == nil {
		return fmt.Errorf("there is no protocol %q", out.Protocol)
	}
	for _, name := range c.lab.Plan.Sent(c.block) {
		out.workloads = append(out.workloads, c.lab.Plan.Workload(name))
	}
	return nil
}

// row adds a row of that name.
func (c *compare) row(s *runtime.Scope, out *comparison, name, engine string, knobs map[string]string) error {
	var v *variant.Variant
	var err error
	if c.recorded != nil {
		v, err = c.recorded(name, engine, knobs)
	} else if v, err = c.lab.Resolve(s, name, engine, knobs); err == nil {
		v = v.AsRow()
		c.lab.Current(v)
	}
	if err != nil {
		return err
	}
	out.rows = append(out.rows, v)
	if name == out.Reference {
		out.variants = slices.Insert(out.variants, 0, v)
	} else {
		out.variants = append(out.variants, v)
	}
	return nil
}

// going is the comparison with its session.
func (c *compare) going(s *runtime.Scope) (*comparison, error) {
	it, err := c.comparison(s)
	if err != nil {
		return nil, err
	}
	it.slots = interleave(it.variants, it.Launches)
	it.session = c.lab.sessionID(s, len(it.slots))
	it.have = c.lab.session(it.session)
	if i := slices.IndexFunc(it.have, func(l *ledger.Launch) bool { return l.Prompts != "" }); i >= 0 {
		it.prompts = it.have[i].Prompts
	}
	return it, nil
}

// Prepare implements runtime.Preparer. An engine whose image is unavailable becomes a row
// that says so, which its launch handles; but a comparison is not reused if it is unknown
// whether an image is still the same.
func (c *compare) Prepare(ctx context.Context, s *runtime.Scope) error {
	it, err := c.comparison(s)
	if err != nil {
		return nil // Keys reports it
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

// Keys: asking for more launches continues the same session, as in a benchmark. The
// reference determines the prompts, so it is part of the measurement key.
func (c *compare) Keys(s *runtime.Scope) (runtime.Keys, error) {
	it, err := c.comparison(s)
	if err != nil {
		return runtime.Keys{}, err
	}
	measure := runtime.Digest("compare", c.lab.BenchmarkKey(it.workloads, it.variants), c.lab.qualifyKey(it.protocol, it.variants...))
	by := append([]any{"launches", it.Launches, decide.Version, "answers"}, judged(it.workloads)...)
	if len(it.Optional) > 0 {
		by = append(by, it.Optional)
	}
	return runtime.Keys{Measure: measure, Decide: runtime.Digest(by...)}, nil
}

// Foresee implements runtime.Foreseer: a qualification of each unmeasured engine, and the
// launches that the session lacks.
func (c *compare) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	it, err := c.going(s)
	if err != nil {
		return nil, nil, err
	}
	var launches []runtime.PlannedLaunch
	for _, v := range it.variants {
		if !it.launched(v) && len(levels.Of(it.protocol, v)) > 0 {
			launches = append(launches, qualifying(v, it.protocol))
		}
	}
	if v := it.variants[0]; !it.launched(v) && v.Command == nil && it.protocol.Level(levels.Correctness) != nil {
		launches = append(launches, planned(v, ledger.ForReference, ""))
	}
	for _, sl := range it.slots {
		if lacks(sl.of(it.have)) {
			launches = append(launches, planned(sl.variant, ledger.ForBenchmark, c.lab.WorkKey(it.workloads)))
		}
	}
	return &ledger.Decision{Session: it.session}, c.lab.alone(launches, it.variants), nil
}

// otherTokens notes the cells whose prompts have another number of tokens by the engine's
// own count than by the reference's: their tok/s are not of the same text.
func otherTokens(own, reference []*ledger.Launch) (notes []verdict.Reason) {
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
			notes = append(notes, verdict.New(code.PromptTokens, verdict.Int("own", int(math.Round(mine))), verdict.Int("reference", int(math.Round(theirs)))).On(cell))
		}
	}
	return notes
}

// interleave plans rounds in which every arm is launched once.
func interleave(arms []*variant.Variant, rounds int) []slot {
	var out []slot
	for r := range rounds {
		for _, v := range roundOf(arms, r+1) {
			out = append(out, slot{variant: v, ordinal: r + 1, order: len(out) + 1, number: len(out) + 1})
		}
	}
	return out
}

// sessionID names the session that a comparison continues: one recorded for the same
// measurement, even if another came in between, otherwise a new one of this attempt. A
// session that a reboot cut is not continued: before and after it, the machine is not the
// same arm.
func (l *Lab) sessionID(s *runtime.Scope, wanted int) string {
	if p := l.measured(s); p != nil && l.usable(p.Session, wanted) {
		return p.Session
	}
	for cut := 0; ; cut++ {
		if id := "s-" + runtime.ShortID(s.Keys.Measure, s.Attempt, cut); l.usable(id, wanted) {
			return id
		}
	}
}

// measured is the newest decision that rests on the requested measurement; nil if it
// broke, or a person wants another one.
func (l *Lab) measured(s *runtime.Scope) *ledger.Decision {
	if s.Why == runtime.Rerun || l.Store == nil {
		return nil
	}
	history := l.Store.History(s.Node.ID)
	for i := len(history) - 1; i >= 0; i-- {
		d := history[i].Decision
		if d.MeasureKey != s.Keys.Measure || d.Session == "" {
			continue
		}
		if d.Kept() {
			return d
		}
		return nil
	}
	return nil
}

// usable reports whether a session is complete or may continue.
func (l *Lab) usable(id string, wanted int) bool {
	launches := l.session(id)
	return l.sameBoot(launches) || len(launches) >= wanted
}

// lacks reports whether a slot must be launched: because it was not, or again because the
// machine disturbed it or it was lost.
func lacks(tries []*ledger.Launch) bool {
	if len(tries) == 0 {
		return true
	}
	last := tries[len(tries)-1]
	again := last.OK && last.Disturbed && len(tries) <= decide.MaxReplaced || decide.Lost(last) && losses(tries) <= decide.MaxReplaced
	return again && !slices.ContainsFunc(tries, decide.Sound)
}

// standing is the launch that represents a slot: one that counts, or else the latest.
func standing(tries []*ledger.Launch) *ledger.Launch {
	if i := slices.IndexFunc(tries, decide.Sound); i >= 0 {
		return tries[i]
	}
	return tries[len(tries)-1]
}

// Run implements runtime.Step.
func (c *compare) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	began := time.Now()
	it, err := c.going(s)
	if err != nil {
		return nil, err
	}
	out := &ledger.Decision{Session: it.session}
	entries := map[*variant.Variant]*gates.Contender{}
	for _, v := range it.variants {
		entries[v] = &gates.Contender{Arm: gates.Arm{Name: v.Name}}
	}
	rows, err := c.table(ctx, s, it, entries, out)
	if err != nil {
		return nil, err
	}
	for _, v := range it.variants {
		known := it.matrix != nil || it.prompts != "" || v.Command != nil
		if it.launched(v) && known || it.matrix != nil && !rows.ahead() {
			continue // it was qualified before this session was cut, or is when its turn comes
		}
		if err := rows.qualify(ctx, v); err != nil {
			return nil, err
		}
	}
	if err := rows.measure(ctx); err != nil {
		return nil, err
	}
	if err := c.doubt(ctx, it, rows.used, entries); err != nil {
		return nil, err
	}
	c.decide(it, entries, out)
	if it.matrix != nil {
		if err := c.counts(s, began, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// launched reports whether a variant was measured in the session.
func (c *comparison) launched(v *variant.Variant) bool {
	return slices.ContainsFunc(c.have, func(l *ledger.Launch) bool { return l.VariantKey == v.Key })
}

// qualify runs the levels of the protocol in a launch of their own. The first engine that
// passes makes the prompts of all.
func (c *compare) qualify(ctx context.Context, s *runtime.Scope, it *comparison, v *variant.Variant, e *gates.Contender, out *ledger.Decision) error {
	parent, err := c.parent(ctx, s, it, v, out)
	if ctx.Err() != nil {
		return err
	} else if err != nil {
		// Without the reference's answers nothing is known of its own.
		e.Broken, e.Cause = verdict.Error, verdict.OfError(err)
		out.Levels = append(out.Levels, ledger.Level{Name: v.Name + "/" + levels.Correctness, Verdict: verdict.Error, Reasons: []verdict.Reason{e.Cause}})
		return nil
	}
	var fit []string
	if it.matrix == nil && it.prompts == "" && v.Command == nil {
		fit = c.lab.Plan.Sent(c.block)
	}
	levels, launch, err := levels.Run(ctx, s, &c.lab.Lab, it.protocol, v, parent, fit, nil, out)
	if err != nil {
		return err
	}
	it.died(v, launch)
	if len(levels) == 0 {
		e.Broken, e.Cause = verdict.Invalid, verdict.New(code.NotQualifying).On(it.Protocol)
	}
	unqualified(e, levels)
	if e.Broken == "" && len(fit) > 0 {
		it.prompts = launch.Prompts
	}
	for _, l := range levels {
		l.Name = v.Name + "/" + l.Name
		out.Levels = append(out.Levels, l)
	}
	return nil
}

// unqualified breaks a row by the first of its levels that did not pass.
func unqualified(e *gates.Contender, levels []ledger.Level) {
	for _, l := range levels {
		if l.Verdict != verdict.Pass && e.Broken == "" {
			e.Broken, e.Cause = decide.Broken(&ledger.Decision{Verdict: l.Verdict, Levels: levels})
		}
	}
}

// parent is what the levels compare a row with: the reference, and for the reference a
// launch of its own, which shows how far apart its launches are.
func (c *compare) parent(ctx context.Context, s *runtime.Scope, it *comparison, v *variant.Variant, out *ledger.Decision) (levels.Parent, error) {
	reference, many := it.variants[0], 2
	var parent levels.Parent
	if v == reference {
		many = 1
	} else if all := c.lab.Store.Launches(store.LaunchFilter{VariantKey: reference.Key, Purpose: ledger.ForQualification, OK: true}); len(all) > 0 {
		parent.Qualified = all[len(all)-1]
	}
	var err error
	parent.Answered, err = levels.References(ctx, s, &c.lab.Lab, it.protocol, reference, many, out)
	return parent, err
}

// died records that the engine of a matrix row crashed.
func (c *comparison) died(v *variant.Variant, l *ledger.Launch) {
	if c.matrix != nil && l != nil && l.Crashed() {
		c.matrix.crashed[v.Name] = true
	}
}

// gather gives each row its launches, in the order of rounds, until one of them broke: it
// also returns the last that did, and the launches that the rows rest on.
func (c *comparison) gather(entries map[*variant.Variant]*gates.Contender) (used map[*variant.Variant][]*ledger.Launch, rests []string, broke *ledger.Launch) {
	used = map[*variant.Variant][]*ledger.Launch{}
	whole := c.whole(entries)
	for _, sl := range c.slots {
		e, tries := entries[sl.variant], sl.of(c.have)
		if e.Broken != "" || len(tries) == 0 {
			continue
		}
		launch := standing(tries)
		if i := slices.IndexFunc(tries, func(l *ledger.Launch) bool { return slices.Contains(whole[sl.ordinal], l) }); i >= 0 {
			launch = tries[i]
		}
		c.died(sl.variant, launch)
		rests = append(rests, launch.ID)
		if !launch.OK {
			e.Broken, e.Cause = verdict.Error, verdict.New(code.LaunchOf, verdict.Int("number", sl.number), verdict.Int("of", len(c.slots))).From(launch.Error)
			broke = launch
			continue
		}
		e.Launches, used[sl.variant] = append(e.Launches, decide.Measured(launch)), append(used[sl.variant], launch)
	}
	for v, e := range entries {
		if e.Broken == "" && len(used[v]) < c.Launches {
			e.Broken = verdict.Invalid // a pass has all of its launches
		}
	}
	return used, rests, broke
}

// whole are the launches of each round that ran together: of all rows without a broken
// launch, if a round was restarted.
func (c *comparison) whole(entries map[*variant.Variant]*gates.Contender) map[int][]*ledger.Launch {
	broke := func(v *variant.Variant) bool {
		return entries[v].Broken != "" || slices.ContainsFunc(c.slots, func(sl slot) bool {
			tries := sl.of(c.have)
			return sl.variant == v && len(tries) > 0 && !standing(tries).OK
		})
	}
	rounds, arms := map[int][]*ledger.Launch{}, map[int]int{}
	for _, sl := range c.slots {
		if sound := slices.DeleteFunc(sl.of(c.have), func(l *ledger.Launch) bool { return !decide.Sound(l) }); len(sound) > 0 && !broke(sl.variant) {
			rounds[sl.ordinal] = append(rounds[sl.ordinal], sound...)
			arms[sl.ordinal]++
		}
	}
	for n, round := range rounds {
		rounds[n] = decide.Together(round, arms[n])
	}
	return rounds
}

// doubt checks for every row whether its launches count.
func (c *compare) doubt(ctx context.Context, it *comparison, used map[*variant.Variant][]*ledger.Launch, entries map[*variant.Variant]*gates.Contender) error {
	reference := used[it.variants[0]]
	for _, v := range it.variants {
		e := entries[v]
		if e.Broken != "" {
			continue
		}
		var err error
		if e.Broken, e.Cause, e.Notes, err = c.doubted(ctx, it, v, used[v], reference); err != nil {
			return err
		}
		if e.Broken == "" {
			e.Notes = append(e.Notes, otherTokens(used[v], reference)...)
		}
	}
	return nil
}

// doubted is why the launches of a row do not count, beside those of the reference, or
// notes on them if they do: then the verdict is empty.
func (c *compare) doubted(ctx context.Context, it *comparison, v *variant.Variant, own, reference []*ledger.Launch) (doubt verdict.Verdict, why verdict.Reason, notes []verdict.Reason, err error) {
	var got verdict.Verdict
	if it.matrix != nil && v != it.variants[0] && len(reference) > 0 {
		// A cell is of the baseline's engine, so it is judged as a feature's candidate
		// is.
		all, vs := slices.Concat(reference, own), []*variant.Variant{it.variants[0], v}
		if got, notes, err = c.lab.Valid(all, vs, it.workloads, it.Launches); err == nil && got == verdict.Pass {
			got, notes, err = c.lab.Worked(all, vs, it.workloads, nil)
		}
	} else {
		got, notes, err = c.lab.ValidRow(v, it.variants[0], own, reference, it.workloads)
	}
	switch {
	case err != nil:
		return "", why, nil, err
	case got != verdict.Pass:
		return got, notes[0], nil, nil
	case it.matrix != nil:
		notes = validity.NotesOf(own) // the reference's launches are another row
	}
	row := []*variant.Variant{v}
	why = c.lab.MovedTrees(ctx, own, row, nil)
	if why.IsZero() {
		why = c.lab.OtherEnvironment(slices.Concat(reference, own), []*variant.Variant{it.variants[0], v})
	}
	if why.IsZero() {
		why, err = c.lab.Contradicted(own, row, it.Protocol)
	}
	if why.IsZero() {
		return "", why, notes, err
	}
	return verdict.Invalid, why, nil, nil
}

// decide joins the rows to the verdict.
func (c *compare) decide(it *comparison, entries map[*variant.Variant]*gates.Contender, out *ledger.Decision) {
	var contenders []gates.Contender
	for _, v := range it.rows {
		contenders = append(contenders, *entries[v])
	}
	out.Rows = gates.Compare(contenders, it.Reference)
	if it.matrix != nil {
		out.Effects = gates.Effects(out.Rows, it.matrix.sets)
	}
	var verdicts []verdict.Verdict
	measured := 0
	sound := slices.ContainsFunc(out.Rows, func(r verdict.Row) bool { return r.Reference && r.Verdict == verdict.Pass })
	for _, r := range out.Rows {
		if r.Verdict == verdict.Pass {
			measured++
		} else {
			out.Reasons = append(out.Reasons, verdict.New(code.Outcome).On(r.Name).Is(r.Verdict).From(r.Why))
		}
		if r.Verdict == verdict.Pass || !slices.Contains(it.Optional, r.Name) {
			v := r.Verdict
			if sound && v == verdict.Error && it.matrix != nil && it.matrix.crashed[r.Name] {
				v = verdict.Fail // beside a baseline that runs, a combination that does not is an outcome, which is kept
			}
			verdicts = append(verdicts, v)
		}
	}
	out.Verdict = verdict.Join(verdicts...)
	if out.Verdict == verdict.Pass && measured < 2 {
		out.Verdict = verdict.Error // the rest is compared with nothing
	}
	if it.matrix != nil && out.Verdict != verdict.Error {
		out.Reasons = append(verdict.Because(code.Combined, verdict.Int("cells", measured), verdict.Int("of", len(it.rows)), verdict.Int("launches", it.Launches)), out.Reasons...)
	} else if out.Verdict == verdict.Pass {
		out.Reasons = append(verdict.Because(code.Compared, verdict.Int("engines", measured), verdict.Int("launches", it.Launches), verdict.Text("reference", it.Reference)), out.Reasons...)
	}
}
