package session

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load/coherence"
	"github.com/mxflow/mxflow/engine/load/work"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

// valid judges whether complete launches count: each by itself, then the arms
// against each other. An arm whose answers do not read as text has proved
// nothing by being fast, nor one that generated less.
func (l *Lab) valid(launches []*ledger.Launch, vs []*variant.Variant, ws []*plans.Workload, rounds int) (verdict.Verdict, []verdict.Reason, error) {
	notes := []verdict.Reason{perArm(rounds)}
	byArm := map[string][]*ledger.Launch{}
	for _, launch := range launches {
		byArm[launch.VariantKey] = append(byArm[launch.VariantKey], launch)
		if len(launch.Invalid) > 0 {
			v, why := decide.NotCounted(launch)
			return v, []verdict.Reason{verdict.New(code.LaunchSays).On(launch.ID).From(why...)}, nil
		}
	}
	notes = append(notes, notesOf(launches)...)
	for _, v := range vs[1:] {
		if why := countedApart(byArm[vs[0].Key], byArm[v.Key], vs[0].Name, v.Name); !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
		if why := unequal(byArm[vs[0].Key], byArm[v.Key], vs[0].Name, v.Name); !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
	}
	for _, judge := range []func(*plans.Workload, []*variant.Variant, map[string][]*ledger.Launch) (verdict.Reason, []verdict.Reason, error){l.coherence, l.work} {
		for _, w := range ws {
			why, said, err := judge(w, vs, byArm)
			if err != nil {
				return "", nil, err
			}
			if !why.IsZero() {
				return verdict.Invalid, []verdict.Reason{why}, nil
			}
			notes = append(notes, said...)
		}
	}
	why, said := agree(vs, byArm, ws)
	if !why.IsZero() {
		return verdict.Invalid, []verdict.Reason{why}, nil
	}
	notes = append(notes, said...)
	for _, v := range vs[1:] {
		why, note := clocks(byArm[vs[0].Key], byArm[v.Key], vs[0].Name, v.Name)
		if !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
		if !note.IsZero() {
			notes = append(notes, note)
		}
	}
	return verdict.Pass, notes, nil
}

// work says in what an arm's answers to a workload show that it did other work than
// its parent; no fact where they do not. Of text that is declared to be nonsense that is
// a note: how much of it a token stands for says little.
func (l *Lab) work(w *plans.Workload, vs []*variant.Variant, byArm map[string][]*ledger.Launch) (why verdict.Reason, notes []verdict.Reason, err error) {
	did := func(v *variant.Variant) (arm work.Arm, err error) {
		arm.Samples, err = l.samplesOf(byArm[v.Key], w)
		arm.Counted = countedAgain(byArm[vs[0].Key], byArm[v.Key])
		return arm, err
	}
	parent, err := did(vs[0])
	if err != nil {
		return why, nil, err
	}
	for _, v := range vs[1:] {
		candidate, err := did(v)
		if err != nil {
			return why, nil, err
		}
		found, few := work.Compare(parent, candidate)
		for _, cell := range few {
			notes = append(notes, verdict.New(code.WorkUncompared, verdict.Text("one", v.Name), verdict.Text("other", vs[0].Name), verdict.Int("least", work.Fewest)).On(cell))
		}
		for _, f := range found {
			found := record.WorkOf(f, v.Name, vs[0].Name)
			if w.Coherence != "off" || f.Code == work.PromptText || f.Code == work.PromptCount {
				return found, nil, nil
			}
			notes = append(notes, found)
		}
	}
	return why, notes, nil
}

// countedAgain is what a parent's tokenizer counts of what was sent to the launches of
// an arm and answered by them.
func countedAgain(parent, arm []*ledger.Launch) (counted []work.Counted) {
	of := map[string]bool{}
	for _, l := range arm {
		of[l.ID] = true
	}
	for _, l := range parent {
		for _, look := range l.Looks {
			if of[look.Launch] {
				counted = append(counted, work.Counted{Cell: look.Cell, Prompt: work.Count(look.Prompt), Answer: work.Count(look.Answer)})
			}
		}
	}
	return counted
}

// agree holds what the candidates answered against what their parent said when it was
// asked the same: cell by cell, since an engine may do the work in some alone, and how
// answers begin apart from how they go on, since it may do one part of them: why it is
// no answer of the parent's model, or what nobody knows.
func agree(vs []*variant.Variant, byArm map[string][]*ledger.Launch, ws []*plans.Workload) (why verdict.Reason, notes []verdict.Reason) {
	// Where no answers are looked at, as the plan declares, that is said of its own.
	looked := slices.ContainsFunc(ws, func(w *plans.Workload) bool { return w.Coherence != "off" })
	arm := map[string]string{}
	for key, launches := range byArm {
		for _, l := range launches {
			arm[l.ID] = key
		}
	}
	const all, beginning, rest = "", "beginning", "rest"
	type part struct{ cell, of string }
	looks := map[part]map[string][]work.Look{{}: {}} // by arm
	for _, l := range byArm[vs[0].Key] {
		for _, look := range l.Looks {
			own := part{look.Cell, beginning}
			if look.At > 0 {
				own.of = rest
			}
			for _, in := range []part{own, {look.Cell, all}, {all, own.of}, {}} {
				if looks[in] == nil {
					looks[in] = map[string][]work.Look{}
				}
				key := arm[look.Launch]
				looks[in][key] = append(looks[in][key], work.Look{Was: look.Was, Is: look.Is, Took: look.Took})
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(looks), func(a, b part) int {
		return cmp.Or(cmp.Compare(a.cell, b.cell), cmp.Compare(a.of, b.of))
	})
	for _, v := range vs[1:] {
		for _, in := range order {
			a, fast := work.Agree(looks[in][vs[0].Key], looks[in][v.Key]), work.Halve(looks[in][v.Key])
			cell, whole := in.cell, in == part{}
			args := []verdict.Arg{verdict.Text("other", vs[0].Name), verdict.Int("agreed", a.Other), verdict.Int("of", a.OtherOf), verdict.Int("own", a.Own), verdict.Int("own_of", a.OwnOf)}
			if cell != all {
				args = append(args, verdict.Text("cell", cell))
			}
			if in.of != all {
				args = append(args, verdict.Text("part", in.of))
			}
			switch {
			case a.Unlike():
				return verdict.New(code.OtherAnswers, args...).On(v.Name), nil
			case cell != all && in.of == all && fast.Split(work.Halve(looks[in][vs[0].Key])):
				return verdict.New(code.FastOthers, verdict.Text("cell", cell), verdict.Text("other", vs[0].Name),
					verdict.Int("fast", fast.Fast), verdict.Int("fast_of", fast.FastOf), verdict.Int("slow", fast.Slow), verdict.Int("slow_of", fast.SlowOf)).On(v.Name), nil
			case whole && a.OwnOf+a.OtherOf == 0 && looked:
				notes = append(notes, verdict.New(code.NotAsked, args[0]).On(v.Name))
			case whole && !a.Known() && looked:
				notes = append(notes, verdict.New(code.NotAsked, args...).On(v.Name))
			}
		}
	}
	return why, notes
}

// perArm is how often each arm was launched.
func perArm(rounds int) verdict.Reason {
	return verdict.New(code.LaunchesPerArm, verdict.Int("n", rounds))
}

// coherence checks the answers of one workload as it asks for.
func (l *Lab) coherence(w *plans.Workload, vs []*variant.Variant, byArm map[string][]*ledger.Launch) (verdict.Reason, []verdict.Reason, error) {
	return l.answered(w, vs, byArm, coherence.Relative)
}

// answered is coherence with arms compared by held where the workload asks for that.
func (l *Lab) answered(w *plans.Workload, vs []*variant.Variant, byArm map[string][]*ledger.Launch, held func(parent, candidate []measure.Sample) []coherence.Coherence) (why verdict.Reason, notes []verdict.Reason, err error) {
	switch w.Coherence {
	case "off":
		return why, []verdict.Reason{verdict.New(code.Unlooked).On(w.Name)}, nil
	case "absolute":
		for _, v := range vs {
			for _, launch := range byArm[v.Key] {
				if i := slices.IndexFunc(launch.Incoherent, func(r verdict.Reason) bool { return ofWorkload(r, w) }); i >= 0 {
					return verdict.New(code.AnswersGarbage, verdict.Text("launch", launch.ID)).On(v.Name).From(launch.Incoherent[i]), nil, nil
				}
			}
		}
		return why, nil, nil
	}
	parent, err := l.samplesOf(byArm[vs[0].Key], w)
	if err != nil {
		return why, nil, err
	}
	for _, v := range vs[1:] {
		candidate, err := l.samplesOf(byArm[v.Key], w)
		if err != nil {
			return why, nil, err
		}
		if (len(parent) == 0) != (len(candidate) == 0) {
			none, other := v.Name, vs[0].Name
			if len(parent) == 0 {
				none, other = other, none
			}
			return verdict.New(code.Unrecorded, verdict.Text("workload", w.Name), verdict.Text("other", other)).On(none), nil, nil
		}
		for _, c := range held(parent, candidate) {
			var found []verdict.Reason
			for _, f := range c.Why {
				found = append(found, record.FindingOf(f))
			}
			of, cell, other := verdict.Int("of", c.Of), verdict.Text("cell", c.Cell), verdict.Text("other", vs[0].Name)
			switch {
			case c.Of == 0 || c.Parents == 0:
				return verdict.New(code.Unpaired, verdict.Text("one", vs[0].Name), verdict.Text("other", v.Name)).On(c.Cell), nil, nil
			// A few empty answers may be chance; that there is no other proves nothing.
			case c.Garbage > 0, c.Doubtful == c.Of && len(c.Why) > 0 && c.Why[0].Sign.Code == coherence.Empty:
				return verdict.New(code.Worse, verdict.Int("answers", max(c.Garbage, c.Doubtful)), of, cell, other).On(v.Name).From(found...), nil, nil
			case c.Doubtful > 0:
				notes = append(notes, verdict.New(code.MaybeWorse, verdict.Int("answers", c.Doubtful), of, cell, other).On(v.Name).From(found...))
			}
		}
	}
	return why, notes, nil
}

// ofWorkload reports whether an incoherent answer, as launches record it, is one
// of a workload's, whose name is the beginning of the addresses of its cells.
func ofWorkload(answer verdict.Reason, w *plans.Workload) bool {
	name, _, _ := strings.Cut(answer.Subject, ".")
	return name == w.Name
}

// samplesOf reads the samples that launches sent of a workload.
func (l *Lab) samplesOf(launches []*ledger.Launch, w *plans.Workload) (out []measure.Sample, err error) {
	cells := map[string]bool{}
	for _, c := range w.Cells() {
		cells[c.Address] = true
	}
	for _, launch := range launches {
		if launch.Samples == "" {
			continue
		}
		all, err := l.Store.ReadSamples(launch)
		if err != nil {
			return nil, fmt.Errorf("the answers of launch %s: %w", launch.ID, err)
		}
		for _, s := range all {
			if cells[s.Workload] {
				s.Events = nil
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// unequalWork is how much of the output that was asked for one arm may have
// generated less than the other: more, and they were not given the same work.
const unequalWork = 0.01

// unequal compares how much output arms fell short of, where its length was
// enforced. Where neither arm counts its tokens there is nothing to compare, nor
// any speed to decide by.
func unequal(parent, candidate []*ledger.Launch, parentName, name string) verdict.Reason {
	if len(parent) == 0 || len(candidate) == 0 {
		return verdict.Reason{}
	}
	for _, run := range parent[0].Cells {
		if !run.ExactOutput {
			continue
		}
		mine, ok := lacking(candidate, run.Cell)
		theirs, known := lacking(parent, run.Cell)
		switch {
		case ok != known:
			counted, not := name, parentName
			if known {
				counted, not = parentName, name
			}
			return verdict.New(code.CountUnknown, verdict.Text("counted", counted), verdict.Text("not", not)).On(run.Cell)
		case ok && (mine-theirs > unequalWork || theirs-mine > unequalWork):
			return verdict.New(code.UnequalWork, verdict.Text("one", name), verdict.Num("lacks", mine, "share"), verdict.Text("other", parentName), verdict.Num("other_lacks", theirs, "share")).On(run.Cell)
		}
	}
	return verdict.Reason{}
}

// unequalClocks is by how much the SM clocks of arms may differ, and cappedShare the
// part of the measured time at the power limit from which on they may differ more.
const (
	unequalClocks = 0.01
	cappedShare   = 0.01
)

// clocks compares the SM clocks of arms. At the power limit a port that draws more has a
// lower clock, which is its doing; otherwise somebody set them, or the machine changed.
// Where a GPU's clock was not read there is nothing to compare.
func clocks(parent, candidate []*ledger.Launch, parentName, name string) (why, note verdict.Reason) {
	theirs, known := meanOf(parent, "gpu.clock_mhz")
	mine, ok := meanOf(candidate, "gpu.clock_mhz")
	if !known || !ok || theirs <= 0 || math.Abs(mine/theirs-1) <= unequalClocks {
		return why, note
	}
	fact := func(c code.Code) verdict.Reason {
		return verdict.New(c, verdict.Text("other", parentName), verdict.Num("clock", mine, "MHz"), verdict.Num("other_clock", theirs, "MHz"), verdict.Num("apart", math.Abs(mine/theirs-1), "share")).On(name)
	}
	one, seen := meanOf(parent, "gpu.power_capped_share")
	other, looked := meanOf(candidate, "gpu.power_capped_share")
	if !seen || !looked || max(one, other) > cappedShare {
		return why, fact(code.ClocksFollow)
	}
	return fact(code.ClocksApart), note
}

// meanOf is the mean of a metric that all launches have once.
func meanOf(launches []*ledger.Launch, address string) (mean float64, known bool) {
	for _, l := range launches {
		m, ok := l.Metrics[address]
		if !ok {
			return 0, false
		}
		mean += m.Stats["median"] / float64(len(launches))
	}
	return mean, len(launches) > 0
}

// countedApart says where the tokens of some launches are the engine's and those of
// others are stream events: a speed of the one is none of the other.
func countedApart(parent, candidate []*ledger.Launch, parentName, name string) verdict.Reason {
	seen := map[string]bool{}
	for _, launch := range slices.Concat(parent, candidate) {
		for _, run := range launch.Cells {
			if seen[run.Cell] {
				continue
			}
			seen[run.Cell] = true
			mine, n := byEvents(candidate, run.Cell)
			theirs, of := byEvents(parent, run.Cell)
			counted, not := name, parentName
			if len(mine) > 0 {
				counted, not = parentName, name
			}
			switch {
			case len(mine)+len(theirs) == 0, len(mine)+len(theirs) == n+of:
			case len(mine) == 0 || len(theirs) == 0:
				return verdict.New(code.CountedApart, verdict.Text("counted", counted), verdict.Text("not", not)).On(run.Cell)
			default:
				return verdict.New(code.CountedMixed, verdict.List("launches", slices.Concat(theirs, mine))).On(run.Cell)
			}
		}
	}
	return verdict.Reason{}
}

// byEvents are the launches in which tokens of a cell were counted as stream events,
// of those that sent it.
func byEvents(launches []*ledger.Launch, cell string) (ids []string, of int) {
	for _, l := range launches {
		i := slices.IndexFunc(l.Cells, func(c measure.CellRun) bool { return c.Cell == cell })
		if i < 0 {
			continue
		}
		if of++; l.Cells[i].ByEvents {
			ids = append(ids, l.ID)
		}
	}
	return ids, of
}

// lacking is the share of the output of a cell that did not come, over launches.
func lacking(launches []*ledger.Launch, cell string) (share float64, ok bool) {
	var came, missing float64
	for _, launch := range launches {
		lost, has := launch.Metrics[cell+".shortfall"]
		out, generated := launch.Metrics[cell+".output_tokens"]
		if !has || !generated {
			return 0, false
		}
		came += out.Stats["mean"] * float64(out.N)
		missing += lost.Stats["mean"] * float64(lost.N)
	}
	if came+missing == 0 {
		return 0, false
	}
	return missing / (came + missing), true
}

// notesOf are the notes of launches, one that several have once.
func notesOf(launches []*ledger.Launch) (notes []verdict.Reason) {
	type having struct {
		note verdict.Reason
		ids  []string
	}
	var all []having
	for _, launch := range launches {
		for _, n := range launch.Notes {
			i := slices.IndexFunc(all, func(h having) bool { return h.note.Equal(n) })
			if i < 0 {
				i, all = len(all), append(all, having{note: n})
			}
			if !slices.Contains(all[i].ids, launch.ID) {
				all[i].ids = append(all[i].ids, launch.ID)
			}
		}
	}
	for _, h := range all {
		said := verdict.New(code.NoteOf).On(h.ids[0])
		if len(h.ids) > 1 {
			said = verdict.New(code.LaunchesNote, verdict.Int("launches", len(h.ids)), verdict.Int("of", len(launches)))
		}
		notes = append(notes, said.From(h.note))
	}
	return notes
}

// byKey are launches by their variant.
func byKey(launches []*ledger.Launch) map[string][]*ledger.Launch {
	arms := map[string][]*ledger.Launch{}
	for _, launch := range launches {
		arms[launch.VariantKey] = append(arms[launch.VariantKey], launch)
	}
	return arms
}

// unproved says which launch of a variant does not prove the values of its knobs; no
// fact where all do that are known. What was found out once stands: logs that are kept
// do not change.
func (l *Lab) unproved(launches []*ledger.Launch, v *variant.Variant, protocol string) (verdict.Reason, error) {
	base, other := l.EvidenceKey(v.Set)
	for _, launch := range launches {
		key := runtime.Digest("proved", launch.ID, protocol, base, other)
		if _, known := l.proved.Load(key); known {
			continue
		}
		got, reasons, err := levels.Proved(&l.Lab, l.Plan.Protocol(protocol), v, launch)
		if err != nil {
			return verdict.Reason{}, fmt.Errorf("the evidence of launch %s: %w", launch.ID, err)
		}
		if got != verdict.Pass {
			return verdict.New(code.LaunchSays).On(launch.ID).From(reasons...), nil
		}
		l.proved.Store(key, true)
	}
	return verdict.Reason{}, nil
}

// largeConsequence is a difference that nobody should have to look for.
const largeConsequence = 0.05

// consequences are what follows from the settings that arms differ in: numbers of one
// arm that all lie above or below all of the other's.
func (l *Lab) consequences(launches []*ledger.Launch, vs []*variant.Variant) (notes []verdict.Reason, err error) {
	byArm := byKey(launches)
	for _, v := range vs[1:] {
		patterns, err := l.Patterns(v)
		if err != nil {
			return nil, err
		}
		var done []string
		for _, p := range patterns {
			if !p.Consequence || slices.Contains(done, p.Name) {
				continue
			}
			done = append(done, p.Name)
			theirs, mine := numbersOf(byArm[vs[0].Key], p.Name), numbersOf(byArm[v.Key], p.Name)
			if len(theirs) == 0 || len(mine) == 0 || slices.Max(theirs) >= slices.Min(mine) && slices.Max(mine) >= slices.Min(theirs) {
				continue
			}
			was, is := mean(theirs), mean(mine)
			what, args := code.ConsequenceDiffers, []verdict.Arg{verdict.Text("name", p.Name), verdict.Num("value", is, p.Unit), verdict.Num("other_value", was, p.Unit), verdict.Text("other", vs[0].Name)}
			if was != 0 {
				args = append(args, verdict.Num("change", is/was-1, "ratio"))
			}
			if was == 0 || math.Abs(is/was-1) >= largeConsequence {
				what = code.ConsequenceLarge
			}
			notes = append(notes, verdict.New(what, args...).On(v.Name))
		}
	}
	return notes, nil
}

// numbersOf are what launches said of themselves, as far as it is a number.
func numbersOf(launches []*ledger.Launch, name string) (numbers []float64) {
	for _, launch := range launches {
		if n, ok := launch.Observed[name].Value.(float64); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func mean(numbers []float64) (sum float64) {
	for _, n := range numbers {
		sum += n / float64(len(numbers))
	}
	return sum
}

// agreement checks that the arms of a comparison differ in nothing but what is
// under test, as far as the engines say. Settings have to agree: within an arm always, and between
// arms unless a knob that differs between them changes them. A knob does so where
// it says so (changes), where its evidence observes them, and where its evidence
// is the very line that they were taken from.
type agreement struct {
	lab *Lab
	// setting are the observations that have to agree.
	setting map[string]bool
}

// contradicted is why what launches of variants show of themselves contradicts what they
// are said to be, or what they are held against: knobs that are not proved, settings in
// which they differ. No fact where nothing does.
func (l *Lab) contradicted(launches []*ledger.Launch, vs []*variant.Variant, protocol string) (verdict.Reason, error) {
	byArm := byKey(launches)
	for _, v := range vs {
		if why, err := l.unproved(byArm[v.Key], v, protocol); err != nil || !why.IsZero() {
			return why, err
		}
	}
	return l.disagree(launches, vs)
}

// disagree is why launches do not make a comparison; no fact where they do.
func (l *Lab) disagree(launches []*ledger.Launch, vs []*variant.Variant) (verdict.Reason, error) {
	a := agreement{lab: l, setting: map[string]bool{}}
	byArm := byKey(launches)
	for _, v := range vs {
		patterns, err := l.Patterns(v)
		if err != nil {
			return verdict.Reason{}, err
		}
		for _, p := range patterns {
			a.setting[p.Name] = a.setting[p.Name] || !p.Consequence
		}
	}
	for _, v := range vs {
		if why := a.within(v, byArm[v.Key]); !why.IsZero() {
			return why, nil
		}
	}
	for _, v := range vs[1:] {
		if why := a.between(vs[0], v, byArm); !why.IsZero() {
			return why, nil
		}
	}
	return verdict.Reason{}, nil
}

// compared are the names that have to agree among launches.
func (a agreement) compared(launches []*ledger.Launch) (names []string) {
	for _, launch := range launches {
		for name := range launch.Observed {
			if a.setting[name] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// within compares the launches of one arm: launches of one variant that say
// different things of themselves are not launches of one variant.
func (a agreement) within(v *variant.Variant, launches []*ledger.Launch) verdict.Reason {
	for _, name := range a.compared(launches) {
		for _, launch := range launches[1:] {
			if launches[0].Observed[name].Value != launch.Observed[name].Value {
				return verdict.New(code.SaysOtherwise, verdict.Text("name", name),
					verdict.Text("value", launches[0].Observed[name].String()), verdict.Text("one", launches[0].ID),
					verdict.Text("other_value", launch.Observed[name].String()), verdict.Text("other", launch.ID)).On(v.Name)
			}
		}
	}
	return verdict.Reason{}
}

// between compares two arms, each of which agrees within itself.
func (a agreement) between(one, other *variant.Variant, byArm map[string][]*ledger.Launch) verdict.Reason {
	left, right := byArm[one.Key], byArm[other.Key]
	if one.Over != nil || other.Over != nil {
		return verdict.Reason{} // a revision is compared as a whole, whatever it chooses
	}
	if len(left) == 0 || len(right) == 0 {
		return verdict.Reason{}
	}
	free, knobs := a.underTest(one, other)
	for _, name := range a.compared([]*ledger.Launch{left[0], right[0]}) {
		x, y := left[0].Observed[name], right[0].Observed[name]
		if x.Value == y.Value || slices.Contains(free, name) || a.proves(knobs, x, y) {
			continue
		}
		return verdict.New(code.DiffersUntested, verdict.Text("name", name), verdict.Text("other", other.Name),
			verdict.Text("value", x.String()), verdict.Text("other_value", y.String()), verdict.List("knobs", knobs)).On(one.Name)
	}
	return verdict.Reason{}
}

// proves reports whether evidence for a value of the knobs is about one of some
// observations, by where it stands in its line: then it is what they are about.
func (a agreement) proves(knobs []string, seen ...ledger.Observed) bool {
	for _, k := range a.lab.Plan.Knobs {
		if !slices.Contains(knobs, k.Name) {
			continue
		}
		for _, v := range k.Values {
			for _, text := range slices.Concat(v.MustSee.Log, v.MustNotSee.Log) {
				g, err := logscan.ParseGlob(text)
				if err == nil && slices.ContainsFunc(seen, func(o ledger.Observed) bool { return g.Names(o.Line, o.At, o.To, o.Whole) }) {
					return true
				}
			}
		}
	}
	return false
}

// underTest are the observations that may differ between two arms, and the knobs
// that do.
func (a agreement) underTest(one, other *variant.Variant) (free, knobs []string) {
	for _, k := range a.lab.Plan.Knobs {
		if one.Knobs[k.Name] == other.Knobs[k.Name] {
			continue
		}
		knobs = append(knobs, k.Name)
		free = append(free, freedBy(k)...)
	}
	return free, knobs
}

// freed are the observations that knobs may change, for the decision's key: it
// is decided again when they do.
func (l *Lab) freed() []any {
	l.freeing.Do(func() {
		for _, k := range l.Plan.Knobs {
			if names := freedBy(k); len(names) > 0 {
				l.free = append(l.free, k.Name, names)
			}
		}
	})
	return l.free
}

// freedBy are the observations that a knob may change: those it names, those that its
// evidence asks for, and what shows the settings that it sets.
func freedBy(k *plans.Knob) []string {
	names := slices.Clone(k.Changes)
	for _, v := range k.Values {
		names = slices.AppendSeq(names, maps.Keys(v.MustSee.Observed))
		names = slices.AppendSeq(names, maps.Keys(v.MustNotSee.Observed))
		for setting := range v.Settings {
			names = append(names, kinds.Shown(setting)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// otherEnvironment says why launches were not made in one environment; no fact
// where they were. Launches that an earlier apply has made are among them: a
// baseline from another environment is none. Entries that the plan accepts may
// differ, and between arms those that a knob under test changes.
func (l *Lab) otherEnvironment(launches []*ledger.Launch, vs []*variant.Variant) verdict.Reason {
	byArm := map[string][]*ledger.Launch{}
	for _, launch := range launches {
		if i := slices.IndexFunc(launch.Notes, func(n verdict.Reason) bool { return n.Code == code.GPUShared }); i >= 0 {
			return verdict.New(code.LaunchSays).On(launch.ID).From(launch.Notes[i])
		}
		if len(launch.Fingerprint) == 0 {
			return verdict.New(code.NoFingerprint).On(launch.ID)
		}
		byArm[launch.VariantKey] = append(byArm[launch.VariantKey], launch)
	}
	accepted := l.AcceptedEntries()
	for _, v := range vs {
		for _, launch := range byArm[v.Key] {
			if entries := differs(byArm[v.Key][0], launch, accepted); len(entries) > 0 {
				return verdict.New(code.EnvironmentChanged).On(v.Name).From(entries...)
			}
		}
	}
	for _, v := range vs[1:] {
		one, other := byArm[vs[0].Key], byArm[v.Key]
		if len(one) == 0 || len(other) == 0 {
			continue
		}
		if entries := differs(one[0], other[0], slices.Concat(accepted, l.changedEntries(vs[0], v))); len(entries) > 0 {
			return verdict.New(code.EnvironmentApart, verdict.Text("other", v.Name)).On(vs[0].Name).From(entries...)
		}
	}
	return verdict.Reason{}
}

// differs are the entries in which two launches differ; an entry that one of them
// lacks differs from any value.
func differs(one, other *ledger.Launch, free []string) (found []verdict.Reason) {
	names := slices.Sorted(maps.Keys(one.Fingerprint))
	for name := range maps.Keys(other.Fingerprint) {
		if _, both := one.Fingerprint[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if one.Fingerprint[name] == other.Fingerprint[name] || variant.IsFree(name, free) {
			continue
		}
		args := []verdict.Arg{verdict.Text("one", one.ID), verdict.Text("other", other.ID)}
		if v, ok := one.Fingerprint[name]; ok {
			args = append(args, verdict.Text("value", v))
		}
		if v, ok := other.Fingerprint[name]; ok {
			args = append(args, verdict.Text("other_value", v))
		}
		found = append(found, verdict.New(code.EntryDiffers, args...).On(name))
	}
	return found
}

// What changes with an image, and with the Python that a program runs on.
var (
	pythonEntries = []string{"packages", "python", "torch", "cuda", "cudnn", "nccl", "engine_version"}
	imageEntries  = append([]string{"image", "nvcc"}, pythonEntries...)
	sourceEntries = append([]string{plans.AcceptRepos}, pythonEntries...)
	modelEntries  = []string{"weights", "model_revision", "tokenizer"}
	gpuEntries    = []string{"gpu", "power_limit", "persistence", "ecc", "mig", "application_clock", "application_memory_clock", "max_clock"}
)

// changedEntries are the entries that knobs change which two arms have at
// different values: that is what is under test.
func (l *Lab) changedEntries(one, other *variant.Variant) (free []string) {
	for _, k := range l.Plan.Knobs {
		if one.Knobs[k.Name] == other.Knobs[k.Name] {
			continue
		}
		for _, v := range []*plans.KnobValue{k.Value(one.Knobs[k.Name]), k.Value(other.Knobs[k.Name])} {
			if v != nil && v.Image != "" {
				free = append(free, imageEntries...)
			}
			if v != nil && len(v.Parts["source"]) > 0 {
				free = append(free, sourceEntries...)
			}
		}
	}
	for _, v := range []*plans.KnobValue{one.Over, other.Over} {
		if v != nil {
			// A revision brings its own of what an engine is made of.
			free = slices.Concat(free, imageEntries, sourceEntries)
		}
	}
	if one.Engine != other.Engine {
		// Engines are compared as a whole: only the machine has to be the same.
		free = slices.Concat(free, imageEntries, sourceEntries, modelEntries)
	}
	x, y := one.Spec, other.Spec
	e := l.Plan.Engine(one.Engine)
	if variant.ModelOf(x, e) != variant.ModelOf(y, l.Plan.Engine(other.Engine)) || variant.FlagOf(x.Command, "--revision") != variant.FlagOf(y.Command, "--revision") {
		free = append(free, modelEntries...)
	}
	program := len(x.Command) > 0 && len(y.Command) > 0 && x.Command[0] != y.Command[0]
	for _, name := range []string{"PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"} {
		program = program || x.Env[name] != y.Env[name]
	}
	if program {
		free = append(free, pythonEntries...)
	}
	if x.Env["CUDA_VISIBLE_DEVICES"] != y.Env["CUDA_VISIBLE_DEVICES"] {
		free = append(free, gpuEntries...)
	}
	return free
}

// acceptedParts is what the plan accepts as part of a decision key, nothing where
// it accepts nothing.
func (l *Lab) acceptedParts() []any {
	if accepted := l.AcceptedEntries(); len(accepted) > 0 {
		return []any{"accepted", accepted}
	}
	return nil
}
