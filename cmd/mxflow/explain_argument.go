package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
)

// ruleArgument is a rule, argued comparison by comparison.
type ruleArgument struct {
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
	Said []string `json:"said,omitempty"`
	// Change and More are among Said, by themselves for programs.
	Change string `json:"what_would_change_it,omitempty"`
	More   string `json:"more_launches,omitempty"`
	// series is what Data are values of.
	series string
	// levels are among Said, from levelsAt on; interval is too, at intervalAt, and
	// plain the same without what is to be known of all intervals.
	levels               []string
	levelsAt, intervalAt int
	interval, plain      string
	// shortHow is How without what is to be known of all tests.
	shortHow string
}

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

// arguesRules argues rules that were decided together.
func arguesRules(st *store.Store, rules []verdict.Rule) (out []ruleArgument) {
	for i, r := range rules {
		out = append(out, arguesRule(st, r, noMore(rules, i)))
	}
	return out
}

// arguesRule argues a rule. ended is why no more launches are made for what stayed
// open; empty where more are.
func arguesRule(st *store.Store, r verdict.Rule, ended string) ruleArgument {
	out := ruleArgument{
		Name: r.Name, Role: r.Role, Expr: r.Expr, Source: r.Source, Verdict: string(r.Verdict), Decides: r.Decides, Open: r.Open,
		Compared: []argument{}, Ended: ended,
	}
	tested := false
	for _, c := range r.Comparisons {
		tested = tested || c.Test != nil
		out.Compared = append(out.Compared, argues(st, r, c, ended))
	}
	for _, in := range r.Inputs {
		switch {
		case !in.Missing.IsZero():
			out.Missing = append(out.Missing, verdict.New(code.IsMissing).On(in.Path).From(in.Missing))
		case !compared(r, in):
			out.Read = append(out.Read, inputLine(in))
		}
	}
	if len(r.Comparisons) == 0 || !tested {
		for _, reason := range r.Reasons {
			if !slices.ContainsFunc(r.Inputs, func(in verdict.Input) bool { return !in.Missing.IsZero() && in.Absence().Equal(reason) }) {
				out.Reasons = append(out.Reasons, reason)
			}
		}
	}
	return out
}

// only leaves out the rules of other alternatives than the one that was asked for.
func (e *explanation) only(alternative string) {
	if alternative == "" {
		return
	}
	e.Alternative = alternative
	e.Rules = slices.DeleteFunc(e.Rules, func(r ruleArgument) bool { return r.Of != alternative })
}

// compared reports whether an input stands in one of the rule's comparisons.
func compared(r verdict.Rule, in verdict.Input) bool {
	for _, c := range r.Comparisons {
		if strings.Contains(c.Text, in.Path) {
			return true
		}
	}
	return false
}

// argues argues one comparison.
func argues(st *store.Store, r verdict.Rule, c verdict.Comparison, ended string) argument {
	out := argument{Text: c.Text, Verdict: string(c.Verdict)}
	t := c.Test
	if t != nil && t.Negated {
		out.Not = "not "
	}
	left, right := tell.Sides(c.Left, c.Right)
	switch {
	case t == nil:
		out.Said = []string{fmt.Sprintf("Found %s against %s. It could not be tested.", left, right)}
		return out
	case t.Form == verdict.Exact && countsOf(c, r) != nil:
		return countsSaid(out, c, r)
	case t.Form == verdict.Exact:
		out.How = "On the values themselves, which are the same however often they are looked at."
		out.Said = []string{fmt.Sprintf("Found %s %s %s: %s.", left, c.Op, right, holdsWord(c.Holds))}
		return append1(out, t.Note)
	}
	s := scale{t}
	out.Unit, out.series = t.Unit, t.Metric+" "+t.Stat+" "+t.Unit
	out.Claim = claim(s)
	out.How, out.shortHow = howTested(t)
	out.Data = dataOf(st, t)
	for i, l := range t.Looks {
		out.Looks = append(out.Looks, look{l, s.text(s.own(l.Estimate)), came(t, i, ended)})
	}
	if len(t.Unpaired) > 0 {
		out.Said = append(out.Said, fmt.Sprintf("No look counts %s, which have none of the other arm beside them.", verdict.And(t.Unpaired)))
	}
	if t.Form == verdict.Range {
		out.Said = append(out.Said, rangeSaid(s)...)
		return append1(out, t.Note)
	}
	if text := ranksSaid(t, r); text != "" {
		out.Said = append(out.Said, text)
	}
	out.levels = levelsSaid(st, t)
	if text := tiesSaid(t); text != "" {
		out.Said = append(out.Said, text)
	}
	out.levelsAt = len(out.Said)
	out.Said = append(out.Said, out.levels...)
	out.Said = append(out.Said, stopSaid(t, ended)...)
	if out.interval, out.plain = intervalSaid(s); out.interval != "" {
		out.intervalAt = len(out.Said)
		out.Said = append(out.Said, out.interval)
	}
	if out.Change = changeSaid(s); out.Change != "" {
		out.Said = append(out.Said, out.Change)
	}
	if out.More = moreSaid(s); out.More != "" {
		out.Said = append(out.Said, out.More)
	}
	return append1(out, t.Note)
}

func append1(a argument, note verdict.Reason) argument {
	if !note.IsZero() {
		a.Said = append(a.Said, tell.Sentence(note))
	}
	return a
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string { return tell.Capital(tell.Stop(text)) }

func holdsWord(holds bool) string {
	if holds {
		return "that holds"
	}
	return "that does not hold"
}

// claim is what is tested, in words.
func claim(s scale) string {
	t := s.test
	most := "at least"
	if !t.More {
		most = "at most"
	}
	switch {
	case t.Form == verdict.Ratio && t.Relation == string(plans.Gain):
		word, size := "better", t.Threshold
		if size < 0 {
			// At least −3% better is at most 3% worse.
			word, size = "worse", -size
			most = map[string]string{"at least": "at most", "at most": "at least"}[most]
		}
		return fmt.Sprintf("%s of %s is %s than that of %s by %s %s.", t.Metric, t.Arm, word, t.Against, most, percent(size))
	case t.Form == verdict.Ratio:
		return fmt.Sprintf("%s of %s changes against %s by %s %s.", t.Metric, t.Arm, t.Against, most, s.text(t.Threshold))
	case t.Form == verdict.Difference:
		return fmt.Sprintf("%s of %s minus that of %s is %s %s.", t.Metric, t.Arm, t.Against, most, s.text(t.Threshold))
	case t.Form == verdict.Range && t.Against != "" && t.Relative():
		return fmt.Sprintf("%s of every launch of %s, against every launch of %s, keeps to a change of %s.", t.Metric, t.Arm, t.Against, s.text(t.Threshold))
	case t.Form == verdict.Range && t.Against != "":
		return fmt.Sprintf("%s of every launch of %s minus that of every launch of %s keeps to %s.", t.Metric, t.Arm, t.Against, s.text(t.Threshold))
	case t.Form == verdict.Range:
		return fmt.Sprintf("%s of every launch of %s keeps to %s.", t.Metric, t.Arm, s.text(t.Threshold))
	}
	return fmt.Sprintf("%s of %s is %s %s.", t.Metric, t.Arm, most, s.text(t.Threshold))
}

// replicates is what to know of every t-test.
const replicates = "; each launch gives one number, since launches are the replicates"

// howTested names the test, and without what is to be known of every t-test.
func howTested(t *verdict.Test) (text, short string) {
	drift := ""
	switch t.Form {
	case verdict.Ratio:
		text = "Welch's t-test on the logs of the launches of both arms"
	case verdict.Difference:
		text = "Welch's t-test on the launches of both arms as they are"
	case verdict.LogLevel:
		text, drift = "One-sample t-test on the logs of the launches of one arm", " Interleaving does not protect it from drift."
	case verdict.Level:
		text, drift = "One-sample t-test on the launches of one arm as they are", " Interleaving does not protect it from drift."
	case verdict.Range:
		return "No t-test, since it hardly varies: the whole range of the launches against the limit.", ""
	default:
		return fmt.Sprintf("By a test that this version does not know: %q.", t.Form), ""
	}
	return text + replicates + "." + drift, text + "." + drift
}

// dataOf are the values that a test read, in the order of the starts.
func dataOf(st *store.Store, t *verdict.Test) (data []datum) {
	numbers := map[string]map[string]int{} // of a session, by launch
	add := func(arm string, ids []string, values []float64) {
		for i, v := range values {
			d := datum{Arm: arm, Value: v}
			if i < len(ids) {
				d.Launch = ids[i]
				if l, ok := st.LaunchByID(ids[i]); ok {
					if numbers[l.Session] == nil {
						numbers[l.Session] = ledger.Numbers(st.Launches(store.LaunchFilter{Session: l.Session}))
					}
					d.Number, d.Order, d.Round = numbers[l.Session][l.ID], l.Order, l.Ordinal
				}
			}
			data = append(data, d)
		}
	}
	add(t.Against, t.BaseLaunches, t.Base)
	add(t.Arm, t.Launches, t.Values)
	slices.SortStableFunc(data, func(a, b datum) int { return a.Order - b.Order })
	return data
}

// argued is where an explanation argues something: the number and name of the
// rule, and the comparison.
type argued struct {
	number     int
	rule, text string
}

// told is what an explanation has said so far. Rules of a gate mostly read the same
// launches: they are printed once, and referred to where they are read again.
type told struct {
	tables []toldTable
	levels map[string]argued
	// replicates and flatters are set once the reader knows.
	replicates, flatters bool
	tell.Page
}

// toldTable is a table of launches and where it stands.
type toldTable struct {
	at     argued
	series string
	data   []datum
}

// from is where what was said stands, as it is called further below.
func (at argued) from(here argued) string {
	if at.number == here.number {
		return "as for " + at.text + " above"
	}
	return fmt.Sprintf("as in rule %d above (%s)", at.number, at.rule)
}

// launches says where the launches of an argument stand already; empty where they
// have to be printed.
func (t *told) launches(here argued, c argument) string {
	arms := armsOfData(c.Data)
	for _, table := range t.tables {
		if table.series != c.series {
			continue
		}
		theirs := slices.DeleteFunc(slices.Clone(table.data), func(d datum) bool { return !slices.Contains(arms, d.Arm) })
		if !slices.Equal(theirs, c.Data) {
			continue
		}
		text := "Launches: " + table.at.from(here)
		if len(theirs) < len(table.data) {
			text += ", those of " + verdict.And(arms) + " alone"
		}
		return text + "."
	}
	t.tables = append(t.tables, toldTable{here, c.series, c.Data})
	return ""
}

func armsOfData(data []datum) (arms []string) {
	for _, d := range data {
		if !slices.Contains(arms, d.Arm) {
			arms = append(arms, d.Arm)
		}
	}
	return arms
}

// how is the name of a test, with what to know of all of them the first time.
func (t *told) how(c argument) string {
	if t.replicates && c.shortHow != "" {
		return c.shortHow
	}
	t.replicates = t.replicates || c.shortHow != ""
	return c.How
}

// said are the sentences of an argument without what was said before.
func (t *told) said(here argued, c argument) (said []string) {
	said = slices.Clone(c.Said)
	if c.interval != "" {
		if t.flatters {
			said[c.intervalAt] = c.plain
		}
		t.flatters = t.flatters || c.interval != c.plain
	}
	if len(c.levels) == 0 {
		return said
	}
	key := strings.Join(c.levels, " ")
	if at, known := t.levels[key]; known {
		said = slices.Replace(said, c.levelsAt, c.levelsAt+len(c.levels), "Levels and looks "+at.from(here)+".")
	} else if t.levels == nil {
		t.levels = map[string]argued{key: here}
	} else {
		t.levels[key] = here
	}
	return said
}

func (a *app) printArgument(here argued, r ruleArgument, c argument, told *told) {
	if len(r.Compared) > 1 || here.text != r.Expr {
		fmt.Fprintf(a.stdout, "\n   %s", here.text)
		if c.Verdict != "" {
			fmt.Fprintf(a.stdout, ": %s", c.Verdict)
		}
		fmt.Fprintln(a.stdout)
	}
	fmt.Fprintln(a.stdout)
	if c.Claim != "" {
		a.paragraph("   ", "Claim: "+c.Claim)
	}
	if c.How != "" {
		a.paragraph("   ", "Test: "+told.how(c))
	}
	if len(c.Data) > 0 {
		if before := told.launches(here, c); before != "" {
			a.paragraph("   ", before)
		} else {
			a.printData(c)
		}
	}
	if len(c.Looks) > 0 {
		a.printLooks(c.Looks)
	}
	if len(c.Data)+len(c.Looks) > 0 && len(c.Said) > 0 {
		fmt.Fprintln(a.stdout)
	}
	a.paragraphs("   ", told.said(here, c))
}

func (a *app) printData(c argument) {
	var rows [][]string
	for _, d := range c.Data {
		rows = append(rows, []string{fmt.Sprint(d.Number), fmt.Sprint(d.Round), d.Arm, d.Launch, tell.Number(d.Value, "")})
	}
	a.indentedTable([]string{"number", "round", "arm", "launch", strings.TrimSpace("value " + inUnit(c.Unit))}, rows)
}

func (a *app) printLooks(looks []look) {
	var rows [][]string
	for _, l := range looks {
		row := []string{fmt.Sprint(l.N), l.Change, "–", "–", "–", "–", "–", l.Came}
		if l.DF > 0 {
			row = []string{fmt.Sprint(l.N), l.Change, fmt.Sprintf("%.3g", l.SE), fmt.Sprintf("%.2f", l.DF), tText(l.T), tell.P(l.PPass), tell.P(l.PFail), l.Came}
		}
		rows = append(rows, row)
	}
	a.indentedTable([]string{"look at", "estimate", "SE", "df", "T", "p pass", "p fail", ""}, rows)
}

// tText writes a statistic; of launches that tie it may be of any size.
func tText(t float64) string {
	if math.Abs(t) >= 1e4 {
		return fmt.Sprintf("%+.2g", t)
	}
	return fmt.Sprintf("%+.2f", t)
}

// came is what followed from the look at i.
func came(t *verdict.Test, i int, ended string) string {
	l := t.Looks[i]
	last := i == len(t.Looks)-1
	switch {
	case l.DF == 0 && last && t.Stop == verdict.StopScreen:
		return "fail: screened"
	case l.DF == 0:
		return "no test yet"
	case l.PPass <= t.Pass:
		return "pass: p ≤ " + tell.PLevel(t.Pass)
	case l.PFail <= t.Fail:
		return "fail: p ≤ " + tell.PLevel(t.Fail)
	case last && t.Stop == verdict.StopFutile:
		return "stop: futile"
	case last && t.Stop == verdict.StopEnd:
		return "the end"
	case last && t.Stop == verdict.StopOpen && ended != "":
		return "open"
	}
	return "go on"
}

// levelsSaid says at which levels looks decide, how the budget was shared, and
// what floors the standard deviation.
func levelsSaid(st *store.Store, t *verdict.Test) (said []string) {
	if t.Pass > 0 || t.Fail > 0 {
		s := fmt.Sprintf("A look passes at p ≤ %s and fails at p ≤ %s", tell.PLevel(t.Pass), tell.PLevel(t.Fail))
		if share := tell.Shares(t.Share); share != "" {
			s += ": " + share
		}
		if len(t.Plan) > 0 {
			s += fmt.Sprintf(". Looks were planned at %s per arm", looksWord(t.Plan))
		}
		said = append(said, s+".")
	}
	if floor := floorSaid(st, t); floor != "" {
		said = append(said, floor)
	}
	return said
}

// looksWord is "3, 4, 6 and 8 launches".
func looksWord(looks []int) string {
	words := make([]string, len(looks))
	for i, n := range looks {
		words[i] = fmt.Sprint(n)
	}
	return verdict.And(words) + " " + plural(looks[len(looks)-1], "launch", "launches")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// stopSaid says why the test ended; of one that stayed open, what follows: ended is why
// no more launches are made.
func stopSaid(t *verdict.Test, ended string) []string {
	n, l := 0, verdict.Look{}
	if len(t.Looks) > 0 {
		l = t.Looks[len(t.Looks)-1]
		n = l.N
	}
	at := lastLookOf(t)
	switch t.Stop {
	case verdict.StopPass:
		return []string{fmt.Sprintf("Decided at %s: %s for a pass, not above %s.", at, tell.PIs(l.PPass), tell.PLevel(t.Pass)) + latched(t, n)}
	case verdict.StopFail:
		return []string{fmt.Sprintf("Decided at %s: %s for a fail, not above %s.", at, tell.PIs(l.PFail), tell.PLevel(t.Fail)) + latched(t, n)}
	case verdict.StopScreen:
		return []string{fmt.Sprintf("Screened at %s: it is so far beyond the threshold that more launches are not worth it. This is no test of how launches differ.", at)}
	case verdict.StopFutile:
		return []string{fmt.Sprintf("Stopped at %s: as things stand, a verdict by the last look has %.1f%% chance left, less than 5%%.", at, 100*l.Chance)}
	case verdict.StopEnd:
		return []string{fmt.Sprintf("Ended at %s, the most that the plan makes: neither level was reached (%s for a pass, %s for a fail).", at, tell.PIs(l.PPass), tell.PIs(l.PFail))}
	case verdict.StopOpen:
		if n == 0 {
			return []string{fmt.Sprintf("Still open: %d against %d launches are there, and the first look has not come.", len(t.Values), len(t.Base))}
		}
		return []string{openSaid(at, cmp.Or(ended, goesOn))}
	}
	return []string{fmt.Sprintf("It ended in a way that this version does not know: %q.", t.Stop)}
}

// lastLookOf is how many launches the last look is of: "3 launches per arm".
func lastLookOf(t *verdict.Test) string {
	n := 0
	if len(t.Looks) > 0 {
		n = t.Looks[len(t.Looks)-1].N
	}
	if t.Against == "" {
		return count(n, "launch")
	}
	return count(n, "launch") + " per arm"
}

// latched says that launches behind the look that decided change nothing.
func latched(t *verdict.Test, n int) string {
	if len(t.Values) <= n {
		return ""
	}
	return fmt.Sprintf(" Launches behind that look were made for other comparisons (%d of this arm are there) and do not change it.", len(t.Values))
}

// flatters is what to know of every estimate that stopped at a pass.
const flatters = " An estimate that stopped at a pass flatters a little, so quote the interval."

// intervalSaid is the interval in the rule's own number, and without what is to be
// known of all of them; empty where there is none.
func intervalSaid(s scale) (text, plain string) {
	t := s.test
	if len(t.Looks) == 0 || t.Low == nil || t.High == nil {
		return "", ""
	}
	l := t.Looks[len(t.Looks)-1]
	plain = fmt.Sprintf("Estimate %s, interval %s to %s.", s.text(s.own(l.Estimate)), s.text(*t.Low), s.text(*t.High))
	if t.Stop == verdict.StopPass {
		return plain + flatters, plain
	}
	return plain, plain
}

// rangeSaid argues a comparison of ranges.
func rangeSaid(s scale) []string {
	t := s.test
	if len(t.Values) == 0 {
		return []string{"There is no launch to look at."}
	}
	own := rangeOf(t, t.Arm, t.Values)
	if len(t.Base) > 0 {
		own += ", " + rangeOf(t, t.Against, t.Base)
	}
	said := []string{own + "."}
	switch {
	case t.Low == nil || t.High == nil || math.IsNaN(*t.Low) || math.IsNaN(*t.High):
		return append(said, "That gives no number to hold against the limit.")
	case t.Against == "":
		return append(said, fmt.Sprintf("So it is between %s and %s, and the limit is %s.", s.text(*t.Low), s.text(*t.High), s.text(t.Threshold)))
	}
	what := "difference"
	if t.Relative() {
		what = "change"
	}
	return append(said, fmt.Sprintf("So the %s of any two launches is between %s and %s, and the limit is %s. A limit in between is inconclusive.",
		what, s.text(*t.Low), s.text(*t.High), s.text(t.Threshold)))
}

func rangeOf(t *verdict.Test, arm string, values []float64) string {
	return fmt.Sprintf("%s has %s to %s", arm, rawText(t, slices.Min(values)), rawText(t, slices.Max(values)))
}

// rawText is a launch's own value with its unit.
func rawText(t *verdict.Test, x float64) string {
	raw := *t
	raw.Form = verdict.Level
	return ownText(&raw, x)
}

// changeSaid is what would have changed the verdict: other thresholds on the same
// launches, or another estimate with the same spread.
func changeSaid(s scale) string {
	t := s.test
	if len(t.Looks) == 0 || t.Low == nil || t.High == nil {
		return ""
	}
	l := t.Looks[len(t.Looks)-1]
	if !(l.SE > 0) || !(l.DF > 0) {
		return ""
	}
	// The claim that would just pass and the one that would just fail.
	pass, fail, upTo, from := *t.Low, *t.High, "up to", "from"
	if !t.More {
		pass, fail, upTo, from = *t.High, *t.Low, "down to", "down from"
	}
	if s.text(pass) == s.text(fail) {
		return "" // nothing varied
	}
	needed := s.own(gates.Needed(t, l))
	switch t.Stop {
	case verdict.StopPass:
		return fmt.Sprintf("A threshold %s %s would have passed at this look too, %s %s on failed, in between continued.",
			upTo, s.text(pass), from, s.text(fail))
	case verdict.StopFail:
		return fmt.Sprintf("With a threshold %s %s these launches would have passed, and short of %s they would not have failed; with the threshold as it is, an estimate of %s would have passed.",
			upTo, s.text(pass), s.text(fail), s.text(needed))
	}
	return fmt.Sprintf("A threshold %s %s would have passed at this look, %s %s on failed; with the threshold as it is, an estimate of %s would have passed.",
		upTo, s.text(pass), from, s.text(fail), s.text(needed))
}

// moreSaid says how many launches would probably settle what is open, as if the
// estimate and the standard deviation of now were the true ones.
func moreSaid(s scale) string {
	t := s.test
	if len(t.Looks) == 0 || t.Stop != verdict.StopOpen && t.Stop != verdict.StopFutile && t.Stop != verdict.StopEnd {
		return ""
	}
	l := t.Looks[len(t.Looks)-1]
	if !(l.SE > 0) || !(l.DF > 0) || !(t.Pass > 0) || !(t.Fail > 0) {
		return ""
	}
	most := 0
	if len(t.Plan) > 0 {
		most = t.Plan[len(t.Plan)-1]
	}
	n := gates.SettledBy(t, l)
	at := "launches per arm"
	if t.Against == "" {
		at = "launches"
	}
	switch {
	case n == 0:
		return fmt.Sprintf("Even %d %s, the most that a plan may make, would probably not settle it: the effect is too near to the threshold for how launches differ. Another threshold, or less noise, would.", stats.MostLaunches, at)
	case n <= most:
		return fmt.Sprintf("About %d %s would probably settle it (%.0f%% chance, if the estimate and the spread stay), which is %d more.", n, at, 100*stats.Likely, n-l.N)
	}
	return fmt.Sprintf("About %d %s would probably settle it (%.0f%% chance, if the estimate and the spread stay); the plan makes at most %d. Going on needs a larger max in its decision block, declared before the first launch.", n, at, 100*stats.Likely, most)
}

// scale turns numbers on the scale of a test, where more is what the rule wants,
// into the rule's own: per cent of a gain, tokens per second.
type scale struct{ test *verdict.Test }

// own is a number on the scale of the test in the rule's own.
func (s scale) own(x float64) float64 {
	if !s.test.More {
		x = -x
	}
	switch {
	case s.test.Form == verdict.Ratio && s.test.Saved:
		return -math.Expm1(-x)
	case s.test.Form == verdict.Ratio:
		return math.Expm1(x)
	case s.test.Form == verdict.LogLevel:
		return math.Exp(x)
	}
	return x
}

// text writes one of the rule's own numbers with its unit.
func (s scale) text(x float64) string {
	if s.test.Form == verdict.Range && s.test.Relative() && !math.IsInf(x, 0) {
		return tell.Percent(x, 1)
	}
	return ownText(s.test, x)
}

// ownText writes a number as the rule has it: ratios in per cent with a sign.
func ownText(t *verdict.Test, x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "without bound"
	case math.IsInf(x, -1):
		return "without bound below"
	case t.Form == verdict.Ratio:
		return tell.Percent(x, 1)
	}
	text := tell.Number(x, "")
	if t.Form == verdict.Difference && x > 0 {
		text = "+" + text
	}
	if t.Unit == "share" {
		return tell.Number(100*x, "") + "%"
	}
	return strings.TrimSpace(text + " " + t.Unit)
}

// countsOf are the inputs of a comparison that each launch counts; launches and
// requests are counted over all of them.
func countsOf(c verdict.Comparison, r verdict.Rule) (list []verdict.Input) {
	for _, in := range r.Inputs {
		if strings.Contains(c.Text, in.Path) && len(in.PerLaunch) > 0 && in.Unit != "launches" && in.Unit != "requests" {
			list = append(list, in)
		}
	}
	return list
}

// countsSaid argues a comparison of what each launch counts.
func countsSaid(out argument, c verdict.Comparison, r verdict.Rule) argument {
	counts := countsOf(c, r)
	is, want := tell.Sides(c.Left, c.Right)
	op := c.Op
	if c.Turned {
		is, op, want = want, plans.Turned(op), is
	}
	if c.Launch > 0 {
		is += fmt.Sprintf(" in launch %d of %d", c.Launch, c.Launches)
	}
	where := "in every launch"
	out.How = "By counting: no t-test, and every launch has to keep to it."
	if comparesArms(counts) {
		where = "of any two launches"
		out.How = "By counting: no t-test, and every launch has to keep to it against every one of the other arm."
	}
	found := "Found " + is
	crashed, starts := crashes(counts)
	if starts > 0 {
		out.How = "By counting the starts that crashed: no t-test, and what few starts did not show may still be there."
		found = fmt.Sprintf("Found %s in %s: %s is %s", count(crashed, "crash"), count(starts, "start"), counts[0].Path, is)
	}
	switch {
	case c.Verdict == verdict.Pass, c.Verdict == verdict.Fail:
		found += fmt.Sprintf(", wanted %s%s %s %s: %s", out.Not, op, want, where, holdsWord(c.Verdict == verdict.Pass))
	default:
		found += fmt.Sprintf(", wanted %s%s %s %s", out.Not, op, want, where)
	}
	out.Said = []string{found + "."}
	if starts > 0 {
		out.Said = append(out.Said, fmt.Sprintf("That shows that less than %.2g%% of all starts crash (95%% confidence), and no more.", 100*stats.AtMost(crashed, starts, 0.95)))
	}
	return append1(out, c.Test.Note)
}

// comparesArms reports whether counts are of more than one arm.
func comparesArms(counts []verdict.Input) bool {
	ofBase := func(in verdict.Input) bool {
		return strings.Contains(in.Path, ".base") || strings.Contains(in.Path, ".root")
	}
	for _, in := range counts {
		if len(in.BasePerLaunch) > 0 || ofBase(in) != ofBase(counts[0]) {
			return true
		}
	}
	return false
}

// crashes are the starts that crashed, and all, where a comparison reads nothing
// but that of one arm; else none.
func crashes(counts []verdict.Input) (crashed, starts int) {
	if len(counts) != 1 || !strings.HasSuffix(counts[0].Path, "engine.crashes") {
		return 0, 0
	}
	for _, v := range counts[0].PerLaunch {
		crashed += int(v) // each was a start of its own, before the one that counts
	}
	return crashed, crashed + len(counts[0].PerLaunch)
}

// floorSaid says by which stored launch noise no arm is taken to vary less, and of
// which sessions it is: one that was disturbed widens all that come later.
func floorSaid(st *store.Store, t *verdict.Test) string {
	if t.Floor <= 0 {
		return ""
	}
	about := fmt.Sprintf("%.2g", t.Floor)
	if t.Form == verdict.Ratio || t.Form == verdict.LogLevel {
		about = fmt.Sprintf("%.2g%%", 100*t.Floor)
	}
	return fmt.Sprintf("No arm's standard deviation is taken as less than %s, by which launches of this engine differed before this session (%.3g degrees of freedom%s): stored noise may widen a verdict, never narrow it.",
		about, t.FloorDF, sessionsWord(noiseSessions(st, t)))
}

// noiseSessions are the sessions that stored launch noise was taken of, oldest first.
func noiseSessions(st *store.Store, t *verdict.Test) []string {
	if len(t.Launches) == 0 {
		return nil
	}
	first, ok := st.LaunchByID(t.Launches[0])
	if !ok {
		return nil
	}
	var variants []string
	for _, l := range st.Launches(store.LaunchFilter{Session: first.Session}) {
		variants = append(variants, l.VariantKey)
	}
	key := t.Metric
	if t.Stat != "median" {
		key += "." + t.Stat
	}
	return decide.NoiseSessions(decide.NoiseBefore(st.Records(), first.Session, first.Work, variants...), key)
}

func sessionsWord(sessions []string) string {
	switch len(sessions) {
	case 0:
		return ""
	case 1:
		return ", session " + sessions[0]
	default:
		return ", sessions " + verdict.And(sessions)
	}
}

// ranksSaid says between which of a launch's ordered values a percentile lies: how
// well one launch knows it, which is another matter than how launches differ.
func ranksSaid(t *verdict.Test, r verdict.Rule) string {
	p, ok := measure.Percentile(t.Stat)
	if !ok || t.Stat == "median" || len(t.Values) == 0 {
		return ""
	}
	requests := 0
	for _, in := range r.Inputs {
		if strings.HasPrefix(in.Path, t.Metric) || strings.Contains(in.Path, "."+t.Metric) {
			requests = in.NRequests
		}
	}
	n := requests / len(t.Values)
	low, high, ok := stats.QuantileRanks(n, p, 0.95)
	if !ok {
		return fmt.Sprintf("Each value is the %s of about %d requests, of which an interval within the launch takes %d.", t.Stat, n, stats.LeastForRanks(p, 0.95))
	}
	return fmt.Sprintf("Each value is the %s of about %d requests: within a launch it lies between the %s and the %s of them in order (95%%).", t.Stat, n, nth(low), nth(high))
}

func nth(n int) string {
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// tiesSaid says where a spread comes from that no launch shows: of arms whose
// launches are all equal.
func tiesSaid(t *verdict.Test) string {
	spread := t.Resolution / math.Sqrt(12)
	if t.Resolution <= 0 || len(t.Values) == 0 {
		return ""
	}
	var equal []string
	for _, arm := range []struct {
		name   string
		values []float64
	}{{t.Against, t.Base}, {t.Arm, t.Values}} {
		if n := len(arm.values); n > 1 && slices.Min(arm.values) == slices.Max(arm.values) {
			if len(equal) == 0 {
				equal = append(equal, fmt.Sprintf("all %d launches of %s are equal", n, arm.name))
			} else { // to each other, not to those of the other arm
				equal = append(equal, fmt.Sprintf("so are all %d of %s", n, arm.name))
			}
		}
	}
	if len(equal) == 0 {
		return ""
	}
	if spread < t.Floor {
		return sentence(strings.Join(equal, ", and ") + ": their spread is taken as that on record")
	}
	tick := t.Resolution
	if t.Form == verdict.Ratio || t.Form == verdict.LogLevel {
		tick *= slices.Min(slices.Concat(t.Values, t.Base))
	}
	text := rawText(t, tick)
	if t.Unit == "ms" && tick < 1e-3 {
		text = fmt.Sprintf("%.2g ns", 1e6*tick)
	}
	return sentence(fmt.Sprintf("%s: their spread is taken as that of rounding, %s/√12", strings.Join(equal, ", and "), text))
}
