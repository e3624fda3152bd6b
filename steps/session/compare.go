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
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/validity"
	"github.com/mxflow/mxflow/steps/variant"
)

// CompareSchema is the schema of a comparison of engines.
var CompareSchema = plans.Schema{
	Doc: "Measures several engines side by side. They get the same text, one engine at a time, in fresh launches interleaved by rounds. Each engine is first qualified by the levels of a protocol, against the reference where a level compares; one whose level finds a number beyond its limit is measured and shown, and does not count. Passes when every row was measured, except those in `optional`. The gates of its phase and later ones read rows against the reference: `compare.frameworks[\"embedded.cached\"].chat.tg.gain >= 1.0`, from 4 launches.",
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
		{Name: "optional", Type: plans.Refs, Ref: "engine", Doc: "Engines that are allowed to break. Their rows stay in the table with the reason, and the step passes without them. A rule that reads such a row does not pass."},
		{Name: "workloads", Type: plans.Refs, Ref: "workload", Doc: "Workloads to send, in this order. `--suite` sends those of a suite instead. Engines of kind `command` bring their own work."},
		{Name: "protocol", Type: plans.Reference, Ref: "protocol", Required: true, Doc: "Its levels qualify each engine before it is measured. One launch, which is not measured, runs all of them except the benchmark."},
		{Name: "launches", Type: plans.Int, Default: 3.0, Unit: "launches per engine", Min: 2, MinSet: true, Doc: "Measured launches of each engine. Rules need 4 to 12."},
	},
	Check: plans.Checked(checkCompare),
}

func checkCompare(_ *plans.Block, c compareConfig) (errs []plans.AttrError) {
	if len(c.Engines) < 2 {
		errs = append(errs, plans.AttrError{Attr: "engines", Code: "comparison-of-engines", Summary: "Nothing to compare", Detail: "Name at least two engines, as in ‹engines = [engine.openai.vllm, engine.openai.llamacpp]›."})
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
		errs = append(errs, plans.AttrError{Code: "comparison-of-engines", Summary: "Comparison sends nothing", Detail: "Set the workloads to send, as in ‹workloads = [workload.chat]›."})
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

// comparison is the work of a compare or matrix step, all names resolved: a session with
// one member, whose arms are its rows.
type comparison struct {
	*session
	compareConfig
	protocol *plans.Protocol
	// matrix is set if the rows are combinations of knobs.
	matrix *matrix
	// variants are the engines, the reference first; rows in the plan's order.
	variants, rows []*variant.Variant
	// entries are what is known of each row.
	entries map[*variant.Variant]*gates.Contender
}

func (c *compare) comparison(s *runtime.Scope) (*comparison, error) {
	out := &comparison{session: &session{lab: c.lab, scope: s}, entries: map[*variant.Variant]*gates.Contender{}}
	if c.block.Kind == plans.MatrixStep {
		return out, c.matrixRows(s, out)
	}
	if err := c.block.Decode(&out.compareConfig); err != nil {
		return nil, err
	}
	if err := c.resolveNames(out); err != nil {
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

func (c *compare) resolveNames(out *comparison) error {
	out.protocol = c.lab.Plan.Protocol(out.Protocol)
	if out.protocol == nil {
		return fmt.Errorf("there is no protocol %q", out.Protocol)
	}
	for _, name := range c.lab.Plan.SentWorkloads(c.block) {
		out.ws = append(out.ws, c.lab.Plan.Workload(name))
	}
	return nil
}

func (c *compare) row(s *runtime.Scope, out *comparison, name, engine string, knobs map[string]string) error {
	var v *variant.Variant
	var err error
	if c.recorded != nil {
		v, err = c.recorded(name, engine, knobs)
	} else if v, err = c.lab.Resolve(s, name, engine, knobs); err == nil {
		v = v.AsRow()
		c.lab.UpdateKey(v)
	}
	if err != nil {
		return err
	}
	out.rows, out.entries[v] = append(out.rows, v), &gates.Contender{Arm: gates.Arm{Name: name}}
	if name == out.Reference {
		out.variants = slices.Insert(out.variants, 0, v)
	} else {
		out.variants = append(out.variants, v)
	}
	return nil
}

// resumeComparison is the comparison with its session. All engines are sent the same prompts, as
// each counts tokens in its own way, except the cells of a matrix, which are of one engine.
func (c *compare) resumeComparison(s *runtime.Scope) (*comparison, error) {
	it, err := c.comparison(s)
	if err != nil {
		return nil, err
	}
	if it.id, err = c.lab.sessionOfRows(s, len(it.variants)*it.Launches); err != nil {
		return nil, err
	}
	it.work = c.lab.WorkKey(it.ws)
	it.adoptLaunches(c.lab.session(it.id))
	if i := slices.IndexFunc(it.all, func(l *ledger.Launch) bool { return l.Prompts != "" }); i >= 0 {
		it.prompts = it.all[i].Prompts
	}
	return it, nil
}

// adoptLaunches makes the rows what the session is about, with the launches that it has.
func (it *comparison) adoptLaunches(all []*ledger.Launch) {
	it.all = all
	it.members = []*member{{Member: decide.NewRows(keysOf(it.variants), it.Launches), variants: it.variants}}
}

// Prepare implements runtime.Preparer. An engine whose image is unavailable becomes a row
// that says so, which its launch handles; but a comparison is not reused if it is unknown
// whether an image is still the same.
func (c *compare) Prepare(ctx context.Context, s *runtime.Scope) error {
	it, err := c.comparison(s)
	if err != nil {
		return nil // Derive reports it
	}
	var failed error
	for _, v := range it.variants {
		if err := c.lab.Fetch(ctx, v); failed == nil {
			failed = err
		}
	}
	if s.Previous == nil || !s.Previous.Verdict.Reusable() {
		return nil
	}
	return failed
}

// Derive implements runtime.Step: the outcome on record, or a qualification of each engine
// that is not measured, and the launches that the session lacks. Asking for more launches
// continues the same session, as in a benchmark. The reference determines the prompts, so
// it is part of the identity.
func (c *compare) Derive(s *runtime.Scope) (*runtime.Derived, error) {
	it, err := c.comparison(s)
	if err != nil {
		return nil, err
	}
	by := append([]any{"launches", it.Launches, decide.Version, "answers"}, answersKey(it.ws)...)
	if len(it.Optional) > 0 {
		by = append(by, it.Optional)
	}
	s.Key = runtime.Digest("compare", c.lab.BenchmarkKey(it.ws, it.variants), c.lab.qualifyKey(it.protocol, it.variants...))
	out := &runtime.Derived{Key: s.Key, Judged: runtime.Digest(by...)}
	p, why := s.Recorded(out.Key, verdict.Reason{})
	switch {
	case p == nil:
		out.Why = why
	case p.DecisionKey == out.Judged:
		out.Outcome = p
		return out, nil
	default:
		out.Why = verdict.Say("rules_changed", "rules changed")
	}
	if it, err = c.resumeComparison(s); err != nil {
		return nil, err
	}
	for _, v := range it.variants {
		if !it.wasMeasured(v) && len(levels.Of(it.protocol, v)) > 0 {
			out.Launches = append(out.Launches, qualifying(v, it.protocol))
		}
	}
	if v := it.variants[0]; !it.wasMeasured(v) && v.Command == nil && it.protocol.Level(levels.Correctness) != nil {
		out.Launches = append(out.Launches, plannedLaunch(v, ledger.ForReference, ""))
	}
	for round := range it.Launches {
		for _, v := range roundOrder(it.variants, round+1) {
			if decide.Lacks(slot{variant: v, ordinal: round + 1}.launchesOf(it.all)) {
				out.Launches = append(out.Launches, plannedLaunch(v, ledger.ForBenchmark, it.work))
			}
		}
	}
	out.Launches = c.lab.markExclusive(out.Launches, it.variants)
	return out, nil
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
			notes = append(notes, verdict.Say("prompts.tokens",
				"prompts of {subject} are {own} tokens long by its own count, {reference} by the reference's",
				verdict.Int("own", int(math.Round(mine))), verdict.Int("reference", int(math.Round(theirs)))).On(cell))
		}
	}
	return notes
}

func (c *compare) Do(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	it, err := c.resumeComparison(s)
	if err != nil {
		return nil, err
	}
	out := &ledger.Decision{Session: it.id}
	if err := it.divide(ctx); err != nil {
		return nil, err
	}
	qualify := func(ctx context.Context, v *variant.Variant) error {
		if it.matrix != nil && it.wasMeasured(v) {
			return nil // it was qualified before this session was cut
		}
		return c.qualify(ctx, s, it, v, out)
	}
	if it.matrix != nil && it.sideBySide() == 1 {
		it.members[0].qualify = qualify // when its turn comes
	} else {
		for _, v := range it.variants {
			if it.wasMeasured(v) && (it.prompts != "" || v.Command != nil) {
				continue
			}
			if err := qualify(ctx, v); err != nil {
				return nil, err
			}
		}
	}
	if err := it.run(ctx); err != nil {
		return nil, err
	}
	// In the order of rows, whichever was qualified first.
	slices.SortStableFunc(out.Levels, func(a, b ledger.Level) int { return cmp.Compare(it.rowOf(a), it.rowOf(b)) })
	if err := c.judge(ctx, it, out); err != nil {
		return nil, err
	}
	return out, nil
}

// wasMeasured reports whether a variant was measured in the session.
func (c *comparison) wasMeasured(v *variant.Variant) bool {
	return slices.ContainsFunc(c.all, func(l *ledger.Launch) bool { return l.VariantKey == v.Key })
}

// qualify runs the levels of the protocol in a launch of their own. The first engine that
// passes makes the prompts of all.
func (c *compare) qualify(ctx context.Context, s *runtime.Scope, it *comparison, v *variant.Variant, out *ledger.Decision) error {
	parent, err := c.parent(ctx, s, it, v, out)
	if ctx.Err() != nil {
		return err
	} else if err != nil {
		// Without the reference's answers nothing is known of its own.
		why := verdict.OfError(err)
		it.dropRow(v, verdict.Error, why)
		out.Levels = append(out.Levels, ledger.Level{Name: v.Name + "/" + levels.Correctness, Verdict: verdict.Error, Reasons: []verdict.Reason{why}})
		return nil
	}
	var fit []string
	if it.matrix == nil && it.prompts == "" && v.Command == nil {
		fit = c.lab.Plan.SentWorkloads(c.block)
	}
	levels, launch, err := levels.Run(ctx, s, &c.lab.Lab, it.protocol, v, parent, fit, nil, out)
	if err != nil {
		return err
	}
	it.rowCrashed(v, launch)
	if len(levels) == 0 {
		it.dropRow(v, verdict.Invalid, verdict.Say("compare.not_qualifying",
			`protocol {subject} has no level that qualifies it; add level "smoke"`).On(it.Protocol))
	}
	it.unqualified(v, levels)
	if e := it.entries[v]; e.Broken == "" && e.Marked == "" && len(fit) > 0 {
		it.prompts = launch.Prompts
	}
	for _, l := range levels {
		l.Name = v.Name + "/" + l.Name
		out.Levels = append(out.Levels, l)
	}
	return nil
}

// rowOf is the index of the row that a level belongs to.
func (c *comparison) rowOf(l ledger.Level) int {
	return slices.IndexFunc(c.variants, func(v *variant.Variant) bool { return strings.HasPrefix(l.Name, v.Name+"/") })
}

func (c *comparison) dropRow(v *variant.Variant, broken verdict.Verdict, why verdict.Reason) {
	c.members[0].DropArm(v.Key, why)
	c.entries[v].Broken, c.entries[v].Cause = broken, why
}

// unqualified drops a row by the first of its levels that did not pass, or marks it.
func (c *comparison) unqualified(v *variant.Variant, all []ledger.Level) {
	e := c.entries[v]
	for _, l := range all {
		if l.Verdict == verdict.Pass || e.Broken != "" {
			continue
		}
		broken, why := decide.Broken(&ledger.Decision{Verdict: l.Verdict, Levels: []ledger.Level{l}})
		if !levels.Marks(c.protocol, l) {
			if l.Verdict == verdict.Invalid && e.Marked != "" { // it was skipped
				broken, why = e.Marked, e.Mark
			}
			c.dropRow(v, broken, why)
		} else if e.Marked == "" {
			e.Marked, e.Mark = broken, why
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

// rowCrashed records that the engine of a matrix row crashed.
func (c *comparison) rowCrashed(v *variant.Variant, l *ledger.Launch) {
	if c.matrix != nil && l != nil && l.Crashed() {
		c.matrix.crashed[v.Name] = true
	}
}

// collectLaunches gives each row its launches, in the order of rounds: those of rounds in which all
// rows ran on one place, and all of a row that dropped out, until one broke.
func (c *comparison) collectLaunches(out *ledger.Decision) (used map[*variant.Variant][]*ledger.Launch) {
	used = map[*variant.Variant][]*ledger.Launch{}
	m := c.members[0]
	m.DropLostArms(c.all)
	took := m.DecidingLaunches(c.all)
	for _, l := range c.all {
		for _, v := range c.variants {
			if v.Key == l.VariantKey && (slices.Contains(took, l) || !m.Has(v.Key) && c.entries[v].Broken == "") {
				out.Launches, used[v] = append(out.Launches, l.ID), append(used[v], l)
			}
		}
	}
	order := 0 // of the latest that broke
	for _, v := range c.variants {
		e := c.entries[v]
		slices.SortStableFunc(used[v], func(a, b *ledger.Launch) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
		if !m.Has(v.Key) {
			used[v] = slices.DeleteFunc(used[v], func(l *ledger.Launch) bool { // another stands for its slot
				tries := slot{variant: v, ordinal: l.Ordinal}.launchesOf(c.all)
				return tries[len(tries)-1] != l
			})
		}
		if i := slices.IndexFunc(used[v], func(l *ledger.Launch) bool { return !l.OK }); i >= 0 {
			l := used[v][i]
			c.rowCrashed(v, l)
			e.Broken = verdict.Error
			e.Cause = verdict.Say("launch.of", "launch {number} of {of}",
				verdict.Int("number", ledger.Numbers(c.all)[l.ID]), verdict.Int("of", len(c.variants)*c.Launches)).From(l.Error)
			if used[v] = used[v][:i]; l.Order > order {
				out.LogTail, out.Exit, order = l.LogTail, l.Exit, l.Order
			}
		}
		for _, l := range used[v] {
			e.Launches = append(e.Launches, decide.Measured(l))
		}
		if e.Broken == "" && m.Has(v.Key) && len(used[v]) < c.Launches {
			e.Broken = verdict.Invalid // a pass has all of its launches
		}
	}
	return used
}

// judge decides all rows by the launches that there are.
func (c *compare) judge(ctx context.Context, it *comparison, out *ledger.Decision) error {
	used := it.collectLaunches(out)
	if err := c.validate(ctx, it, used); err != nil {
		return err
	}
	c.decide(it, out)
	return nil
}

// validate checks for every row whether its launches count.
func (c *compare) validate(ctx context.Context, it *comparison, used map[*variant.Variant][]*ledger.Launch) error {
	reference := used[it.variants[0]]
	for _, v := range it.variants {
		e := it.entries[v]
		if e.Broken != "" {
			continue
		}
		var err error
		if e.Broken, e.Cause, e.Notes, err = c.validRow(ctx, it, v, used[v], reference); err != nil {
			return err
		}
		if why, lost := it.members[0].Lost[v.Key]; lost && e.Broken == "" {
			e.Broken, e.Cause = verdict.Invalid, why
		}
		if e.Broken == "" {
			e.Notes = append(e.Notes, otherTokens(used[v], reference)...)
		}
	}
	return nil
}

// validRow is why the launches of a row do not count, beside those of the reference, or
// notes on them if they do: then the verdict is empty.
func (c *compare) validRow(ctx context.Context, it *comparison, v *variant.Variant, own, reference []*ledger.Launch) (broken verdict.Verdict, why verdict.Reason, notes []verdict.Reason, err error) {
	var got verdict.Verdict
	if it.matrix != nil && v != it.variants[0] && len(reference) > 0 {
		// A cell is of the baseline's engine, so it is judged as a feature's candidate
		// is.
		all, vs := slices.Concat(reference, own), []*variant.Variant{it.variants[0], v}
		if got, notes, err = c.lab.Valid(all, vs, it.ws, it.Launches); err == nil && got == verdict.Pass {
			got, notes, err = c.lab.SameWork(all, vs, it.ws, nil)
		}
	} else {
		got, notes, err = c.lab.ValidRow(v, it.variants[0], own, reference, it.ws)
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
	why = c.lab.Moved(ctx, own, row, nil)
	if why.IsZero() {
		why = c.lab.OtherEnvironment(slices.Concat(reference, own), []*variant.Variant{it.variants[0], v})
	}
	if why.IsZero() {
		why, err = c.lab.SelfContradiction(own, row, it.Protocol)
	}
	if why.IsZero() {
		return "", why, notes, err
	}
	return verdict.Invalid, why, nil, nil
}

func (c *compare) decide(it *comparison, out *ledger.Decision) {
	var contenders []gates.Contender
	for _, v := range it.rows {
		contenders = append(contenders, *it.entries[v])
	}
	out.Rows = gates.Compare(contenders, it.Reference)
	if it.matrix != nil {
		out.Effects = gates.Effects(out.Rows, it.matrix.sets)
	}
	var verdicts []verdict.Verdict
	measured := 0
	sound := slices.ContainsFunc(out.Rows, func(r verdict.Row) bool { return r.Reference && r.Verdict == verdict.Pass })
	for i, r := range out.Rows {
		if r.Verdict == verdict.Pass || contenders[i].Marked != "" && len(r.Cells) > 0 {
			measured++
		}
		if r.Verdict != verdict.Pass {
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
		out.Reasons = append(verdict.Because(code.Of("matrix.done",
			"{cells} of {of} cells measured, {launches} launches each"),
			verdict.Int("cells", measured), verdict.Int("of", len(it.rows)), verdict.Int("launches", it.Launches)), out.Reasons...)
	} else if out.Verdict == verdict.Pass {
		out.Reasons = append(verdict.Because(code.Of("compare.done",
			"{engines} engines, {launches} launches each, against {reference}"),
			verdict.Int("engines", measured), verdict.Int("launches", it.Launches), verdict.Text("reference", it.Reference)), out.Reasons...)
	}
}
