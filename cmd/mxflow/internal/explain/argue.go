package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// rule is a rule, argued comparison by comparison.
type rule struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Of      string `json:"of,omitempty"` // an alternative's name
	Expr    string `json:"expr"`
	Source  string `json:"source"`
	Verdict string `json:"verdict"`
	// Decides is false for a criterion that is recorded only.
	Decides  bool             `json:"decides"`
	Reasons  []verdict.Reason `json:"reasons,omitempty"`
	Compared []argument       `json:"comparisons"`
	// Missing are the inputs that were not there, with why.
	Missing []verdict.Reason `json:"missing,omitempty"`
	// Read are the inputs that stand in no comparison.
	Read []string `json:"read,omitempty"`
	Open []string `json:"open,omitempty"`
	// Ended is why no more launches are made for what is open.
	Ended string `json:"ended,omitempty"`
}

// argument is one comparison in words and numbers.
type argument struct {
	Text string `json:"text"`
	// Not is "not " where the rule wants that it does not hold.
	Not     string `json:"not,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	// Claim is what is tested, How by which test.
	Claim string  `json:"claim,omitempty"`
	How   string  `json:"how,omitempty"`
	Unit  string  `json:"unit,omitempty"`
	Data  []datum `json:"data,omitempty"`
	Looks []look  `json:"looks,omitempty"`
	// Said are the sentences below the looks: levels, what decided, the interval,
	// what would have changed it, how many more launches.
	Said []sentence `json:"said,omitempty"`
	// Change and More are among Said, by themselves for programs.
	Change string `json:"what_would_change_it,omitempty"`
	More   string `json:"more_launches,omitempty"`
	// series is what Data are values of.
	series string
}

// sentence is one of an argument's.
type sentence struct {
	text string
	// once is set for what an explanation says once, and about names it where it would
	// stand again; empty for what need not be called to mind.
	once  bool
	about string
}

// MarshalJSON writes the text alone.
func (s sentence) MarshalJSON() ([]byte, error) { return json.Marshal(s.text) }

// datum is one launch's value.
type datum struct {
	// Number is the launch's as the progress had it, and Order counts every start.
	Number int     `json:"number"`
	Order  int     `json:"order"`
	Round  int     `json:"round"`
	Arm    string  `json:"arm"`
	Launch string  `json:"launch"`
	Value  float64 `json:"value"`
}

// look is one look at the data, in the rule's own numbers.
type look struct {
	verdict.Look
	// Change is the estimate in the rule's own number; Came what followed from it.
	Change string `json:"change"`
	Came   string `json:"came"`
}

// rulesOf argues rules that were decided together.
func rulesOf(st *store.Store, rules []verdict.Rule, of string) (out []rule) {
	for i, r := range rules {
		out = append(out, ruleOf(st, r, of, noMore(rules, i)))
	}
	return out
}

// ruleOf argues a rule. ended is why no more launches are made for what stayed
// open; empty where more are.
func ruleOf(st *store.Store, r verdict.Rule, of, ended string) rule {
	out := rule{
		Name: r.Name, Role: r.Role, Of: of, Expr: r.Expr, Source: r.Source, Verdict: string(r.Verdict), Decides: r.Decides, Open: r.Open,
		Compared: []argument{}, Ended: ended,
	}
	var reads []string
	tested := false
	for _, c := range r.Comparisons {
		tested = tested || c.Test != nil
		reads = append(reads, c.Reads...)
		out.Compared = append(out.Compared, argue(st, c, ended))
	}
	var absent []verdict.Reason
	for _, in := range r.Inputs {
		switch {
		case !in.Missing.IsZero():
			absent = append(absent, in.Absence())
			out.Missing = append(out.Missing, verdict.New(code.IsMissing).On(in.Path).From(in.Missing))
		case !slices.Contains(reads, in.Path):
			out.Read = append(out.Read, tell.Input(in))
		}
	}
	if !tested {
		out.Reasons = slices.DeleteFunc(slices.Clone(r.Reasons), func(reason verdict.Reason) bool { return slices.ContainsFunc(absent, reason.Equal) })
	}
	return out
}

// noMore is why no more launches are made for what a rule left open, of the set of
// which it is the one at i; empty where more are.
func noMore(rules []verdict.Rule, i int) string {
	if !rules[i].Decides {
		return "launches are made for what decides, and it is recorded only"
	}
	if rules[i].Verdict == verdict.Pass || rules[i].Verdict == verdict.Fail {
		return "no more were made, since the rule is decided without it"
	}
	for _, other := range rules {
		switch {
		case !other.Decides || other.Verdict == verdict.Pass || other.Verdict == verdict.Inconclusive:
		case other.Verdict == verdict.Fail:
			return fmt.Sprintf("no more were made, since %s had failed", other.Name)
		default:
			return fmt.Sprintf("no more were made, as %s %s", other.Name, tell.Did(other.Verdict))
		}
	}
	return ""
}

// argue argues one comparison.
func argue(st *store.Store, c verdict.Comparison, ended string) argument {
	out := argument{Text: c.Text, Verdict: string(c.Verdict)}
	t := c.Test
	if t == nil {
		left, right := tell.Sides(c.Left, c.Right)
		out.say(fmt.Sprintf("Found %s against %s. It could not be tested.", left, right))
		return out
	}
	if t.Negated {
		out.Not = "not "
	}
	if t.Form == verdict.Exact {
		out.exact(c)
	} else {
		out.test(st, t, ended)
	}
	if !t.Note.IsZero() {
		out.say(tell.Sentence(t.Note))
	}
	return out
}

func (a *argument) say(text ...string) {
	for _, t := range text {
		if t != "" {
			a.Said = append(a.Said, sentence{text: t})
		}
	}
}

// exact argues a comparison on the values themselves, or of what each launch counts.
func (a *argument) exact(c verdict.Comparison) {
	left, right := tell.Sides(c.Left, c.Right)
	if c.Test.Each == "" {
		a.How = "On the values themselves, which are the same however often they are looked at."
		a.say(fmt.Sprintf("Found %s %s %s: %s.", left, c.Op, right, trueOrFalse(c.Holds)))
		return
	}
	is, op, want, where := left, c.Op, right, "in every launch"
	if c.Turned {
		is, op, want = right, plans.Turned(op), left
	}
	if c.Launch > 0 {
		is += fmt.Sprintf(" in launch %d of %d", c.Launch, c.Launches)
	}
	switch {
	case verdict.Holds(c.Test.Beside, code.Crashed):
		a.How = "By counting the starts that crashed: no t-test, and what few starts did not show may still happen."
	case c.Test.Each == "pair":
		where = "of any two launches"
		a.How = "By counting: no t-test, and every launch has to keep to it against every one of the other arm."
	default:
		a.How = "By counting: no t-test, and every launch has to keep to it."
	}
	found := fmt.Sprintf("Found %s, wanted %s%s %s %s", is, a.Not, op, want, where)
	if c.Verdict == verdict.Pass || c.Verdict == verdict.Fail {
		found += ": " + trueOrFalse(c.Verdict == verdict.Pass)
	}
	a.say(found + ".")
	for _, r := range c.Test.Beside {
		a.say(tell.Sentence(r))
	}
}

func trueOrFalse(holds bool) string {
	if holds {
		return "true"
	}
	return "false"
}

// test argues a comparison that launches were tested for.
func (a *argument) test(st *store.Store, t *verdict.Test, ended string) {
	a.Unit, a.series = t.Unit, t.Metric+" "+t.Stat+" "+t.Unit
	a.Claim, a.How, a.Data = claim(t), how(t.Form), dataOf(st, t)
	for i, l := range t.Looks {
		estimate := "–"
		if l.Own != nil {
			estimate = own(t, *l.Own)
		}
		a.Looks = append(a.Looks, look{l, estimate, came(t, i, ended)})
	}
	if len(t.Unpaired) > 0 {
		a.say(tell.Sentence(verdict.New(code.NotPaired, verdict.List("launches", t.Unpaired))))
	}
	if t.Form == verdict.Range {
		a.say(ranges(t)...)
		return
	}
	a.Said = append(a.Said, sentence{text: "Each launch gives one number, since launches are the replicates.", once: true})
	a.Said = append(a.Said, levels(t)...)
	for _, r := range t.Beside {
		if r.Code != code.Settles && r.Code != code.SettlesNever {
			a.Said = append(a.Said, sentence{text: tell.Sentence(r), once: true})
		}
	}
	a.say(stopped(t, ended), interval(t))
	if t.Stop == verdict.StopPass {
		a.Said = append(a.Said, sentence{text: "An estimate that stopped at a pass flatters a little, so quote the interval.", once: true})
	}
	a.Change = change(t)
	for _, r := range t.Beside {
		if r.Code == code.Settles || r.Code == code.SettlesNever {
			a.More = tell.Sentence(r)
		}
	}
	a.say(a.Change, a.More)
}

// claim is what is tested, in words.
func claim(t *verdict.Test) string {
	most, size := "at least", own(t, t.Threshold)
	if !t.More {
		most = "at most"
	}
	switch ranged := t.Form == verdict.Range; {
	case ranged && t.Against != "" && t.Relative():
		return fmt.Sprintf("%s of every launch of %s, against every launch of %s, keeps to a change of %s.", t.Metric, t.Arm, t.Against, size)
	case ranged && t.Against != "":
		return fmt.Sprintf("%s of every launch of %s minus that of every launch of %s keeps to %s.", t.Metric, t.Arm, t.Against, size)
	case ranged:
		return fmt.Sprintf("%s of every launch of %s keeps to %s.", t.Metric, t.Arm, size)
	case t.Form == verdict.Ratio && t.Relation == string(plans.Gain):
		word := "better"
		if t.Threshold < 0 {
			// At least −3% better is at most 3% worse.
			word = "worse"
			most = map[string]string{"at least": "at most", "at most": "at least"}[most]
		}
		return fmt.Sprintf("%s of %s is %s than that of %s by %s %s.", t.Metric, t.Arm, word, t.Against, most, strings.TrimLeft(size, "+-"))
	case t.Form == verdict.Ratio:
		return fmt.Sprintf("%s of %s changes against %s by %s %s.", t.Metric, t.Arm, t.Against, most, size)
	case t.Form == verdict.Difference:
		return fmt.Sprintf("%s of %s minus that of %s is %s %s.", t.Metric, t.Arm, t.Against, most, size)
	}
	return fmt.Sprintf("%s of %s is %s %s.", t.Metric, t.Arm, most, size)
}

// how names the test.
func how(form verdict.Form) string {
	switch form {
	case verdict.Ratio:
		return "Welch's t-test on the logs of the launches of both arms."
	case verdict.Difference:
		return "Welch's t-test on the launches of both arms as they are."
	case verdict.LogLevel:
		return "One-sample t-test on the logs of the launches of one arm. Interleaving does not protect it from drift."
	case verdict.Level:
		return "One-sample t-test on the launches of one arm as they are. Interleaving does not protect it from drift."
	case verdict.Range:
		return "No t-test, since it hardly varies: the whole range of the launches against the limit."
	}
	return fmt.Sprintf("By a test that this version does not know: %q.", form)
}

// dataOf are the values that a test read, in the order of the starts.
func dataOf(st *store.Store, t *verdict.Test) (data []datum) {
	numbers := map[string]map[string]int{} // of a session, by launch
	add := func(arm string, ids []string, values []float64) {
		for i, v := range values {
			d := datum{Arm: arm, Launch: ids[i], Value: v}
			if l, ok := st.LaunchByID(ids[i]); ok {
				if numbers[l.Session] == nil {
					numbers[l.Session] = ledger.Numbers(st.Launches(store.LaunchFilter{Session: l.Session}))
				}
				d.Number, d.Order, d.Round = numbers[l.Session][l.ID], l.Order, l.Ordinal
			}
			data = append(data, d)
		}
	}
	add(t.Against, t.BaseLaunches, t.Base)
	add(t.Arm, t.Launches, t.Values)
	slices.SortStableFunc(data, func(a, b datum) int { return a.Order - b.Order })
	return data
}

// came is what followed from the look at i; a test ends with its last one.
func came(t *verdict.Test, i int, ended string) string {
	last := i == len(t.Looks)-1
	switch {
	case last && t.Stop == verdict.StopScreen:
		return "fail: screened"
	case t.Looks[i].DF == 0:
		return "no test yet"
	case !last, t.Stop == verdict.StopOpen && ended == "":
		return "go on"
	}
	switch t.Stop {
	case verdict.StopPass:
		return "pass: p ≤ " + tell.PLevel(t.Pass)
	case verdict.StopFail:
		return "fail: p ≤ " + tell.PLevel(t.Fail)
	case verdict.StopFutile:
		return "stop: futile"
	case verdict.StopEnd:
		return "the end"
	}
	return "open"
}

// levels says at which levels looks decide, and how the budget was shared.
func levels(t *verdict.Test) []sentence {
	if t.Pass == 0 && t.Fail == 0 {
		return nil
	}
	text := fmt.Sprintf("A look passes at p ≤ %s and fails at p ≤ %s", tell.PLevel(t.Pass), tell.PLevel(t.Fail))
	if share := tell.Shares(t.Share); share != "" {
		text += ": " + share
	}
	if len(t.Plan) > 0 {
		looks := make([]string, len(t.Plan))
		for i, n := range t.Plan {
			looks[i] = fmt.Sprint(n)
		}
		text += fmt.Sprintf(". Looks were planned at %s launches per arm", verdict.And(looks))
	}
	return []sentence{{text: text + ".", once: true, about: "Levels and looks"}}
}

// stopped says why the test ended; of one that stayed open, what follows: ended is why
// no more launches are made.
func stopped(t *verdict.Test, ended string) string {
	if len(t.Looks) == 0 {
		return fmt.Sprintf("Still open: %d against %d launches are recorded, and the first look has not come.", len(t.Values), len(t.Base))
	}
	l := t.Looks[len(t.Looks)-1]
	at := tell.Launches(l.N)
	if t.Against != "" {
		at += " per arm"
	}
	switch t.Stop {
	case verdict.StopPass:
		return fmt.Sprintf("Decided at %s: %s for a pass, not above %s.", at, tell.PIs(l.PPass), tell.PLevel(t.Pass)) + behind(t, l)
	case verdict.StopFail:
		return fmt.Sprintf("Decided at %s: %s for a fail, not above %s.", at, tell.PIs(l.PFail), tell.PLevel(t.Fail)) + behind(t, l)
	case verdict.StopScreen:
		return fmt.Sprintf("Screened at %s: it is so far beyond the threshold that more launches are not worth it. This is no test of how launches differ.", at)
	case verdict.StopFutile:
		return fmt.Sprintf("Stopped at %s: as things stand, a verdict by the last look has %.1f%% chance left, less than 5%%.", at, 100*l.Chance)
	case verdict.StopEnd:
		return fmt.Sprintf("Ended at %s, the most that the plan makes: neither level was reached (%s for a pass, %s for a fail).", at, tell.PIs(l.PPass), tell.PIs(l.PFail))
	case verdict.StopOpen:
		return fmt.Sprintf("Still open after %s: %s.", at, cmp.Or(ended, "continue with more launches"))
	}
	return fmt.Sprintf("It ended in a way that this version does not know: %q.", t.Stop)
}

// behind says that launches behind the look that decided change nothing.
func behind(t *verdict.Test, l verdict.Look) string {
	if len(t.Values) <= l.N {
		return ""
	}
	return fmt.Sprintf(" Launches behind that look were made for other comparisons (%d of this arm are recorded) and do not change it.", len(t.Values))
}

// interval is the estimate and its interval in the rule's own number.
func interval(t *verdict.Test) string {
	if t.Estimate == nil || t.Low == nil || t.High == nil {
		return ""
	}
	return fmt.Sprintf("Estimate %s, interval %s to %s.", own(t, *t.Estimate), own(t, *t.Low), own(t, *t.High))
}

// ranges argues a comparison of ranges.
func ranges(t *verdict.Test) []string {
	has := func(arm string, values []float64) string {
		return fmt.Sprintf("%s has %s to %s", arm, tell.Number(slices.Min(values), t.Unit), tell.Number(slices.Max(values), t.Unit))
	}
	low, high, limit := own(t, *t.Low), own(t, *t.High), own(t, t.Threshold)
	if t.Against == "" {
		return []string{has(t.Arm, t.Values) + ".", fmt.Sprintf("So it is between %s and %s, and the limit is %s.", low, high, limit)}
	}
	what := "difference"
	if t.Relative() {
		what = "change"
	}
	return []string{
		has(t.Arm, t.Values) + ", " + has(t.Against, t.Base) + ".",
		fmt.Sprintf("So the %s of any two launches is between %s and %s, and the limit is %s. A limit in between is inconclusive.", what, low, high, limit),
	}
}

// change is what would have changed the verdict: other thresholds on the same
// launches, or another estimate with the same spread.
func change(t *verdict.Test) string {
	if t.Low == nil || t.High == nil {
		return ""
	}
	// The claim that would just pass and the one that would just fail.
	pass, fail, upTo, from := own(t, *t.Low), own(t, *t.High), "up to", "from"
	if !t.More {
		pass, fail, upTo, from = fail, pass, "down to", "down from"
	}
	switch {
	case pass == fail:
		return "" // nothing varied
	case t.Stop == verdict.StopPass:
		return fmt.Sprintf("A threshold %s %s would have passed at this look too, %s %s on failed, in between continued.", upTo, pass, from, fail)
	case t.Needed == nil:
		return ""
	case t.Stop == verdict.StopFail:
		return fmt.Sprintf("With a threshold %s %s these launches would have passed, and short of %s they would not have failed; with the threshold as it is, an estimate of %s would have passed.",
			upTo, pass, fail, own(t, *t.Needed))
	}
	return fmt.Sprintf("A threshold %s %s would have passed at this look, %s %s on failed; with the threshold as it is, an estimate of %s would have passed.",
		upTo, pass, from, fail, own(t, *t.Needed))
}

// own writes one of a rule's own numbers with its unit: changes in per cent with a sign.
func own(t *verdict.Test, x float64) string {
	switch {
	case t.Form == verdict.Ratio, t.Form == verdict.Range && t.Relative():
		return tell.Percent(x, 1)
	case t.Form == verdict.Difference && x > 0:
		return "+" + tell.Number(x, t.Unit)
	}
	return tell.Number(x, t.Unit)
}

// hypothesis says what became of a claim.
func hypothesis(h *ledger.Hypothesis) (said []string) {
	came := cmp.Or(h.Outcome, "not decided")
	if h.PostHoc {
		came += ", POST HOC: it was claimed after its launches were measured, so they prove nothing of it"
	}
	said = append(said, fmt.Sprintf("%s %s: %s", h.Metric, h.Expect, came))
	if h.Because != "" {
		said = append(said, "Because: "+h.Because)
	}
	tested := false
	if h.Test != nil {
		for _, c := range h.Test.Comparisons {
			if t := c.Test; t != nil && len(t.Looks) > 0 {
				tested = true
				said = append(said, stopped(t, "launches are made for the criteria, and none for a hypothesis"))
				if text := interval(t); text != "" {
					said = append(said, text)
				}
			}
		}
	}
	// What was measured has a plain interval of 95%, which would stand beside that of
	// the test and say something else.
	if !tested && !h.Measured.IsZero() {
		said = append(said, "Measured: "+tell.Line(h.Measured))
	}
	return said
}
