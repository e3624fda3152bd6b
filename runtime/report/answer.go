package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Answer is a plan's result in one sentence: "Decode 40.1 → 882 tok/s, 22× the baseline (at least
// 6.8×; if not, at most 1 in 100 tests would show it): 3 of 7 ports accepted; speculation failed and locks sinks; wip
// is fast but answers garbage", "Nothing accepted: triton decodes 39% slower (at most 10% was allowed;
// at least 26%; if not, at most 1 in 20 tests would show it)", or of engines "Fastest: llama.cpp, 43× transformers".
type Answer struct {
	// Gain is how far the accepted stack is from the baseline, or what each port added, or which
	// engine is fastest; empty without any.
	Gain string
	// Accepted counts the ports, and Failed says what became of the others, the gates that lock
	// something first; if nothing was accepted, by which number.
	Accepted string
	Failed   []string
	// Ports are how many there are, Stacked how many are accepted.
	Ports, Stacked int
}

// String is the sentence, without a full stop.
func (a Answer) String() string {
	rest := strings.Join(append([]string{a.Accepted}, a.Failed...), "; ")
	switch {
	case a.Gain != "":
		rest = a.Gain + ": " + rest
	case a.Ports > 0 && a.Stacked == 0 && len(a.Failed) > 0:
		rest = a.Accepted + ": " + strings.Join(a.Failed, "; ")
	}
	return verdict.Capital(rest)
}

// mostFailed limits the clauses of an Answer, mostNamed the names in one.
const (
	mostFailed = 4
	mostNamed  = 3
)

// answer is the result by the decisions as they are now.
func (s *Summary) answer() (a Answer) {
	a.Gain = s.gain()
	var ports, decided, accepted, open, gates, passed int
	locks, later := map[string][]string{}, map[string][]string{} // features and phases, by the node that locks them
	for _, r := range s.Rows {
		switch {
		case r.Gone:
		case r.Gate != "":
			if gates++; !r.Locked.IsZero() {
				later[r.Locked.Subject] = append(later[r.Locked.Subject], r.Gate)
			} else if r.Decided != nil && (r.Decided.Verdict.Unlocks() || r.Overruled.State == Waived) {
				passed++
			}
		case r.Feature != "":
			ports++
			switch {
			case !r.Locked.IsZero():
				locks[r.Locked.Subject] = append(locks[r.Locked.Subject], r.Feature)
			case r.Decided == nil:
				open++
			case inStack(r.Decided.Decision):
				accepted++
			}
			if r.InForce() && r.Locked.IsZero() {
				decided++
			}
		}
	}
	a.Ports, a.Stacked = ports, accepted
	switch a.Accepted = fmt.Sprintf("%d of %s accepted", accepted, verdict.Count(ports, "port")); {
	case ports == 0:
		a.Gain = s.fastest()
		a.Accepted = fmt.Sprintf("%d of %s passed", passed, verdict.Count(gates, "gate")) // waived ones included
	case accepted == 0 && decided > 0:
		a.Accepted = "Nothing accepted"
	}

	// blamed are the phases whose gate locks something, with what, until a clause says it: a gate has its
	// own if several ports failed in it, or if it is the baseline.
	blamed, alone := map[string]string{}, map[string]int{}
	var blames []*Row
	for i, r := range s.Rows {
		locked := locks[r.Node]
		if len(locked) == 0 {
			locked = later[r.Node]
		}
		if len(locked) > 0 && r.InForce() && (r.Gate != "" || r.Node == ledger.Baseline) {
			blamed[r.Gate] = " and locks " + Few(locked)
			blames = append(blames, &s.Rows[i])
		}
		if r.failedPort() {
			alone[r.Decided.Phase]++
		}
	}
	var bad, named []string
	alike := map[string][]string{} // features, by what became of them
	for _, r := range s.Rows {
		if ports == 0 && r.Gate != "" && r.InForce() && !r.Decided.Verdict.Unlocks() && blamed[r.Gate] == "" {
			a.Failed = append(a.Failed,
				r.Gate+" "+verdict.Did(r.Decided.Verdict)+verdict.Behind(": ", asked(r.Decided.Decision)))
		}
		if !r.failedPort() {
			continue
		}
		d, locking := r.Decided.Decision, ""
		if alone[d.Phase] == 1 && d.Phase != "" {
			locking = blamed[d.Phase]
		}
		if text := asked(d); accepted == 0 && text != "" {
			named = append(named, r.Feature+" "+text+locking)
			if locking != "" {
				delete(blamed, d.Phase)
			}
			continue
		}
		what := verdict.Did(d.Verdict)
		switch {
		case garbage(d.Why()):
			if what = "answers garbage"; s.faster(d) {
				what = "is fast but answers garbage"
			}
		case d.Verdict == verdict.Invalid && len(failedLevels(d)) > 0:
			if what = "failed level " + failedLevels(d)[0]; accepted == 0 {
				what = "does not count: " + unproven(failedLevels(d)[0])
			}
		case d.Verdict == verdict.Pass:
			what = "passed without being stacked"
		case blamed[d.Phase] != "" && d.Verdict == verdict.Fail:
			continue // its phase is named
		}
		if locking != "" {
			named = append(named, r.Feature+" "+what+locking)
			delete(blamed, d.Phase)
			continue
		}
		if alike[what] == nil {
			bad = append(bad, what)
		}
		alike[what] = append(alike[what], r.Feature)
	}
	for _, what := range bad {
		names := alike[what]
		if len(names) > 1 {
			what = strings.NewReplacer("is ", "are ", "answers ", "answer ").Replace(what)
		}
		a.Failed = append(a.Failed, Few(names)+" "+what)
	}
	for _, r := range blames {
		if locking := blamed[r.Gate]; locking != "" {
			named = append(named, cmp.Or(r.Gate, r.Node)+" "+verdict.Did(r.Decided.Verdict)+locking)
		}
	}
	a.Failed = append(named, a.Failed...)
	if n := len(a.Failed); n > mostFailed {
		a.Failed = append(a.Failed[:mostFailed-1], fmt.Sprintf("%d more did not pass", n-mostFailed+1))
	}
	if open > 0 {
		a.Failed = append(a.Failed, fmt.Sprintf("%d not decided yet", open))
	}
	return a
}

// failedPort reports whether a row is a port that was decided and not accepted, nor locked since.
func (r Row) failedPort() bool {
	return r.Feature != "" && r.InForce() && r.Locked.IsZero() && !inStack(r.Decided.Decision)
}

// Few are the first names of a list, and how many more there are.
func Few(names []string) string {
	if n := len(names) - mostNamed; n > 0 {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("%d more", n))
	}
	return verdict.And(names)
}

// gain is how far the stack is from the baseline, or else what each port added to it.
func (s *Summary) gain() string {
	c := s.Headline()
	if c == nil {
		var steps, nots []string
		metric := ""
		for _, f := range s.Stack.Features {
			v := f.lead
			if v.Decided == 0 || v.Absolute || len(steps) == mostNamed || metric != "" && metric != v.Address() {
				continue
			}
			metric = v.Address()
			sure, not := v.sure(f.decision)
			steps, nots = append(steps, fmt.Sprintf("%s with %s (%s", v.Amount(), f.Feature, sure)), append(nots, not)
		}
		for i, not := range nots {
			if i+1 < len(nots) && nots[i+1] == not {
				not = "" // once, behind the last
			}
			steps[i] += not + ")"
		}
		if len(steps) == 0 {
			return ""
		}
		_, word := measure.SplitAddress(metric)
		return MetricWord(word) + " " + strings.Join(steps, ", ")
	}
	what, pair := MetricWord(c.Metric), s.Ends.Pair
	if slices.ContainsFunc(pair.Metrics, func(o Comparison) bool { return o.Metric == c.Metric && o.Cell != c.Cell }) {
		what += " (" + Sent(pair.New.Launches, c.Cell) + ")"
	}
	text, against := c.Amount(), "against the baseline"
	if _, _, _, fell := c.less(false); fell {
		against = "than the baseline"
	} else if strings.HasSuffix(text, "×") {
		against = "the baseline"
	}
	text = fmt.Sprintf("%s %s, %s %s", what, c.FromTo(), text, against)
	if c.Low != nil && !c.Significant() {
		return text + ", within noise"
	}
	sure, not := c.sure(s.Stack.Features[len(s.Stack.Features)-1].decision)
	return text + " (" + sure + not + ")"
}

// sure is how large a change is at least, and how sure that is, by the error rates of the decision that it
// comes from; or that it is the end of a 95% interval.
func (d Comparison) sure(by *ledger.Decision) (edge, not string) {
	edge = d.Edge()
	switch {
	case edge == "":
		return "no bounds from so few launches", ""
	case d.Decided == 0 || by.Statistics == nil:
		return edge + " at 95% confidence", ""
	}
	return edge, ifNot(by.Statistics.FalsePass)
}

// ifNot says how sure a bound is that an error rate belongs to: how many tests would show it all the same
// if it did not hold. How many such claims are false nobody knows: that depends on what is claimed.
func ifNot(rate float64) string {
	if !(rate > 0) {
		return ""
	}
	return fmt.Sprintf("; if not, at most 1 in %.0f tests would show it", math.Floor(1/rate+1e-9))
}

// asked is what the rule that decided a verdict measured, what it asked for, and how sure that is:
// "decodes 39% slower (at most 10% was allowed; at least 26%; if not, at most 1 in 20 tests would show it)". Empty
// if no number of launches decided.
func asked(d *ledger.Decision) string {
	r := Deciding(d)
	if r == nil || r.Deciding() == nil || d.Verdict != verdict.Fail && d.Verdict != verdict.Inconclusive {
		return ""
	}
	t := r.Deciding().Test
	is, wanted, bounds := r.Parts()
	_, metric := measure.SplitAddress(t.Metric)
	text, want := MetricWord(metric)+" "+is, wanted+" was asked"
	verb := map[string]string{"tg": "decodes", "pp": "prefills"}[metric]
	switch share := strings.TrimLeft(is, "+-"); {
	case verb == "" || !t.Relative() || !t.More:
	case *t.Estimate > 0 && *t.Estimate <= 3: // beyond, "12×" says it
		text = verb + " " + share + " faster"
	case *t.Estimate < 0:
		text = verb + " " + share + " slower"
		if d.Verdict == verdict.Fail && t.High != nil && *t.High < 0 {
			bounds = "at least " + strings.TrimPrefix(verdict.AtMost(*t.High, "ratio"), "-")
		}
		switch {
		case t.Threshold < 0:
			want = "at most " + verdict.Planned(-t.Threshold, "spread") + " was allowed"
		case t.Threshold == 0:
			want = "no loss was allowed"
		default:
			want = verdict.Planned(t.Threshold, "ratio") + " was asked"
		}
	}
	if s := d.Statistics; s != nil && d.Verdict == verdict.Fail && t.Form != verdict.Exact && t.Form != verdict.Range {
		bounds += ifNot(s.FalseFail)
	}
	return text + " (" + want + "; " + bounds + ")"
}

// unproven says in words that a level failed.
func unproven(level string) string {
	switch level {
	case "kernels":
		return "its kernel was not proven"
	case "correctness":
		return "its answers are not right"
	}
	return "level " + level + " failed"
}

// fastest is the best engine of the comparisons by decode, or else by what they compare first, beside
// their reference: "Fastest: llama.cpp, 43× transformers (22× to 84×)".
func (s *Summary) fastest() string {
	for _, r := range s.Rows {
		if !r.InForce() || len(r.Decided.Rows) < 2 {
			continue
		}
		rows, address := r.Decided.Rows, ""
		reference := ""
		for _, of := range rows {
			if of.Reference {
				reference = engineWord(of.Name)
			}
			for _, c := range of.Cells {
				_, metric := measure.SplitAddress(c.Address)
				if c.Speedup != nil && (address == "" || metric == "tg" && !strings.HasSuffix(address, ".tg")) {
					address = c.Address
				}
			}
		}
		name, best := "", (*verdict.Cell)(nil)
		for _, of := range rows {
			if c := cellOf(of.Cells, address); of.Verdict == verdict.Pass && c != nil && c.Speedup != nil &&
				(best == nil || *c.Speedup > *best.Speedup) {
				name, best = engineWord(of.Name), c
			}
		}
		_, metric := measure.SplitAddress(address)
		word := "Fastest"
		if metric != "tg" {
			word += " by " + MetricWord(metric)
		}
		switch {
		case best == nil:
			continue
		case *best.Speedup <= 1:
			return fmt.Sprintf("%s: %s, the reference; %s is %s", word, reference, name,
				verdict.Number(*best.Speedup, "times"))
		}
		text := fmt.Sprintf("%s: %s, %s %s", word, name, verdict.Number(*best.Speedup, "times"), reference)
		if best.SpeedupLow != nil && best.SpeedupHigh != nil {
			text += fmt.Sprintf(" (95%% CI %s to %s)", verdict.AtLeast(*best.SpeedupLow, "times"),
				verdict.AtMost(*best.SpeedupHigh, "times"))
		}
		return text
	}
	return ""
}

// engineWord is an engine's own name, without its kind.
func engineWord(name string) string {
	if _, label, is := strings.Cut(name, "."); is && !strings.Contains(name, "=") {
		return label
	}
	return name
}

// Headline is the metric that says how far the stack is from the baseline: the one by which
// most of its features were accepted, the first of them; nil if no session launched both ends.
func (s *Summary) Headline() (best *Comparison) {
	if s.Ends.Pair == nil {
		return nil
	}
	decided := map[string]int{}
	for _, f := range s.Stack.Features {
		if f.lead.Decided > 0 {
			decided[f.lead.Address()]++
		}
	}
	most := -1
	for i, c := range s.Ends.Pair.Metrics {
		if c.Change == nil || c.Absolute || c.Better == "" || c.Better == measure.Neither {
			continue
		}
		if n := decided[c.Address()]; n > most {
			most, best = n, &s.Ends.Pair.Metrics[i]
		}
	}
	return best
}

// TotalRule is the rule by which the headline of the stack was decided, with its decision; nil if none did.
func (s *Summary) TotalRule() (*ledger.Decided, *verdict.Rule) {
	c := s.Headline()
	if c == nil || c.Decided == 0 {
		return nil, nil
	}
	t := s.tests.decided(s.Ends.Pair.Old.Launches, s.Ends.Pair.New.Launches, c.Address(), c.Stat)
	for _, d := range s.InForce() {
		for i, r := range d.Rules {
			if slices.ContainsFunc(r.Comparisons, func(of verdict.Comparison) bool { return of.Test == t }) {
				return &d, &d.Rules[i]
			}
		}
	}
	return nil, nil
}

// MetricWord is a metric as people say it in a sentence.
func MetricWord(metric string) string {
	switch metric {
	case "tg":
		return "decode"
	case "pp":
		return "prefill"
	case "ttft":
		return "TTFT"
	case "itl":
		return "time per token"
	case "e2e":
		return "time of an answer"
	case "tg_total":
		return "total decode"
	}
	for _, unit := range []string{"_gb", "_w", "_c", "_mhz", "_j", "_s"} { // it stands behind the number
		if name, is := strings.CutSuffix(metric, unit); is && !strings.HasSuffix(name, "_per") && name != "tok" {
			metric = name
		}
	}
	return strings.ReplaceAll(metric, "_", " ")
}

// mostWords is the length of Short.
const mostWords = 8

// Short is why a node did not pass, in at most eight words.
func (r Row) Short() string {
	switch {
	case !r.Locked.IsZero() && r.Locked.Subject != "":
		return "locked by " + strings.TrimPrefix(r.Locked.Subject, "phase.")
	case !r.Locked.IsZero():
		return words(r.Locked.String())
	case r.Decided == nil:
		return ""
	}
	d := r.Decided.Decision
	if d.Verdict.Unlocks() {
		return ""
	}
	if garbage(d.Why()) {
		return "answers garbage"
	}
	if d.Disturbed() {
		return "disturbed by this machine: apply again"
	}
	if failed := failedLevels(d); len(failed) > 0 {
		return "failed level " + failed[0]
	}
	if c := unconfirmed(d); c != nil {
		return words(fmt.Sprintf("%s on %s", verdict.Did(c.Verdict), c.Engine) +
			verdict.Behind(": ", verdict.Root(c.Reason)))
	}
	if r := Deciding(d); r != nil {
		brief := r.Brief()
		if len(strings.Fields(brief)) > mostWords {
			brief = strings.TrimLeft(strings.TrimPrefix(brief, r.Name), ": ")
		}
		return words(brief)
	}
	against := slices.DeleteFunc(d.Why(), func(r verdict.Reason) bool { return r.Verdict.Unlocks() })
	if len(against) > 0 {
		return words(verdict.Brief(against[0]))
	}
	return ""
}

// unconfirmed is the first engine on which a feature did not pass; nil without one.
func unconfirmed(d *ledger.Decision) *ledger.Confirmation {
	i := slices.IndexFunc(d.Confirmations, func(c ledger.Confirmation) bool {
		return c.Verdict != "" && !c.Verdict.Unlocks()
	})
	if i < 0 {
		return nil
	}
	return &d.Confirmations[i]
}

// Brief is why a node's outcome is what it is, on one line.
func (r Row) Brief() string {
	if r.Decided == nil || !r.Locked.IsZero() {
		return r.Short()
	}
	return Brief(r.Decided.Decision)
}

// words are the first of a text.
func words(text string) string {
	all := strings.Fields(text)
	if len(all) <= mostWords {
		return strings.Join(all, " ")
	}
	return strings.TrimRight(strings.Join(all[:mostWords], " "), ",;:(") + "…"
}

// garbage reports whether a decision follows from answers that are not text.
func garbage(why []verdict.Reason) bool {
	return slices.ContainsFunc([]code.Fact{code.AnswerGarbage, code.AnswersGarbage, code.AnswersWorse},
		func(f code.Fact) bool {
			return verdict.Holds(why, f.Kind)
		})
}

// failedLevels are the levels of a qualification that failed.
func failedLevels(d *ledger.Decision) (names []string) {
	for _, l := range d.Levels {
		if l.Verdict == verdict.Fail {
			names = append(names, l.Name)
		}
	}
	return names
}

// faster reports whether the launches of a feature show it to be better than its parent in the
// metric that comes first, whether they count or not.
func (s *Summary) faster(d *ledger.Decision) bool {
	of, parent := map[string][]*ledger.Launch{}, EvidenceOf(d).Parent.Name
	for _, id := range d.Launches {
		if l, ok := s.Store.LaunchByID(id); ok && l.OK && l.Purpose == ledger.ForBenchmark {
			of[l.Variant] = append(of[l.Variant], l)
		}
	}
	for _, c := range Comparisons(of[parent], of[d.Feature], true, nil) {
		return c.Significant() && (*c.Change > 0) == (c.Better == measure.Higher)
	}
	return false
}
