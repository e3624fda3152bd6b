package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Answer is a plan's result in one sentence: "Decode 22× the baseline (at least 6.8×): 3 of 7
// ports accepted; speculation failed and locks sinks; wip is fast but answers garbage".
type Answer struct {
	// Gain is how far the accepted stack is from the baseline; empty if no session launched both.
	Gain string
	// Accepted counts the ports, and Failed says what became of the others, the gates that lock
	// something first.
	Accepted string
	Failed   []string
}

// String is the sentence, without a full stop.
func (a Answer) String() string {
	rest := strings.Join(append([]string{a.Accepted}, a.Failed...), "; ")
	if a.Gain == "" {
		return verdict.Capital(rest)
	}
	return a.Gain + ": " + rest
}

// mostFailed limits the clauses of an Answer, mostNamed the names in one.
const (
	mostFailed = 4
	mostNamed  = 3
)

// AnswerOf is the result of a state directory as its decisions are now.
func AnswerOf(st *store.Store, now time.Time) (a Answer) {
	a.Gain = gainOf(st)
	var ports, accepted, open int
	locks, later := map[string][]string{}, map[string][]string{} // features and phases, by the node that locks them
	rows := Rows(st)
	for _, r := range rows {
		feature, is := FeatureNode(r.Node)
		if phase, isPhase := PhaseNode(r.Node); isPhase && !r.Locked.IsZero() {
			later[r.Locked.Subject] = append(later[r.Locked.Subject], phase)
		}
		if !is || r.Gone {
			continue
		}
		ports++
		switch d := r.Decided; {
		case !r.Locked.IsZero():
			locks[r.Locked.Subject] = append(locks[r.Locked.Subject], feature)
		case d == nil:
			open++
		case inStack(d.Decision):
			accepted++
		}
	}
	if ports == 0 {
		a.Accepted = gatesPassed(rows, st, now)
	} else {
		a.Accepted = fmt.Sprintf("%d of %s accepted", accepted, verdict.Count(ports, "port"))
	}

	blamed := map[string]bool{} // the phases whose gate locks something
	var bad []string
	alike := map[string][]string{} // features, by what became of them
	for _, r := range rows {
		phase, isPhase := PhaseNode(r.Node)
		if r.Gone || r.Decided == nil || !isPhase && r.Node != ledger.Baseline {
			continue
		}
		name := phase
		if !isPhase {
			name = r.Node
		}
		locked := locks[r.Node]
		if len(locked) == 0 {
			locked = later[r.Node]
		}
		if len(locked) > 0 {
			blamed[phase] = true
			a.Failed = append(a.Failed, name+" "+verdict.Did(r.Decided.Verdict)+" and locks "+few(locked))
		}
	}
	for _, r := range rows {
		feature, is := FeatureNode(r.Node)
		if !is || r.Gone || r.Decided == nil || !r.Locked.IsZero() || inStack(r.Decided.Decision) {
			continue
		}
		d := r.Decided.Decision
		what := verdict.Did(d.Verdict)
		switch {
		case garbage(d.Why()):
			if what = "answers garbage"; faster(st, d) {
				what = "is fast but answers garbage"
			}
		case d.Verdict == verdict.Invalid && len(failedLevels(d)) > 0:
			what = "failed level " + failedLevels(d)[0]
		case d.Verdict == verdict.Pass:
			what = "passed without being stacked"
		case blamed[d.Phase] && d.Verdict == verdict.Fail:
			continue // its phase is named
		}
		if alike[what] == nil {
			bad = append(bad, what)
		}
		alike[what] = append(alike[what], feature)
	}
	for _, what := range bad {
		names := alike[what]
		if len(names) > 1 {
			what = strings.NewReplacer("is ", "are ", "answers ", "answer ").Replace(what)
		}
		a.Failed = append(a.Failed, few(names)+" "+what)
	}
	if n := len(a.Failed); n > mostFailed {
		a.Failed = append(a.Failed[:mostFailed-1], fmt.Sprintf("%d more did not pass", n-mostFailed+1))
	}
	if open > 0 {
		a.Failed = append(a.Failed, fmt.Sprintf("%d not decided yet", open))
	}
	return a
}

// gatesPassed is "2 of 3 gates passed", waived ones included.
func gatesPassed(rows []Row, st *store.Store, now time.Time) string {
	all, passed := 0, 0
	for _, r := range rows {
		if _, isPhase := PhaseNode(r.Node); !isPhase || r.Gone {
			continue
		}
		if all++; r.Decided == nil {
			continue
		}
		if o := OverruledOf(r.Decided.Decision, st.Waiver(r.Node), now); o.Verdict.Unlocks() || o.State == "waived" {
			passed++
		}
	}
	return fmt.Sprintf("%d of %s passed", passed, verdict.Count(all, "gate"))
}

// few are the first names of a list.
func few(names []string) string {
	if n := len(names) - mostNamed; n > 0 {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("%d more", n))
	}
	return verdict.And(names)
}

// gainOf is how far the stack is from the baseline, or else what each port added to it.
func gainOf(st *store.Store) string {
	ends, against := EndsOf(st), "against the baseline"
	c := Headline(st, ends)
	if c == nil {
		var steps []string
		metric := ""
		for _, d := range DecisionsInForce(st) {
			t := stepOf(d.Decision)
			if t == nil || len(steps) == mostNamed || metric != "" && metric != t.Metric {
				continue
			}
			metric = t.Metric
			steps = append(steps, fmt.Sprintf("%s with %s", verdict.Faster(*t.Estimate), d.Feature))
		}
		if len(steps) == 0 {
			return ""
		}
		_, word := measure.SplitAddress(metric)
		return verdict.Capital(MetricWord(word)) + " " + strings.Join(steps, ", ")
	}
	what, edge, bound := verdict.Capital(MetricWord(c.Metric)), c.Low, verdict.AtLeast
	if slices.ContainsFunc(ends.Pair.Metrics, func(o Comparison) bool {
		return o.Metric == c.Metric && o.Cell != c.Cell
	}) {
		what += " (" + Sent(ends.Pair.New.Launches, c.Cell) + ")"
	}
	if c.Better == measure.Lower {
		edge, bound = c.High, verdict.AtMost
	}
	text := verdict.Faster(*c.Change)
	if strings.HasSuffix(text, "×") {
		against = "the baseline"
	}
	switch {
	case c.Low != nil && !c.Significant():
		return fmt.Sprintf("%s %s %s, within noise", what, text, against)
	case edge == nil || (*c.Change > 0) != (c.Better == measure.Higher):
		return fmt.Sprintf("%s %s %s", what, text, against)
	}
	return fmt.Sprintf("%s %s %s (at least %s)", what, text, against, bound(*edge))
}

// stepOf is the test by which a feature of the stack was accepted, if that was of a gain.
func stepOf(d *ledger.Decision) *verdict.Test {
	r := Deciding(d)
	if r == nil || !inStack(d) {
		return nil
	}
	if c := r.Deciding(); c != nil && c.Test.Relative() {
		return c.Test
	}
	return nil
}

// Headline is the metric that says how far the stack is from the baseline: the one by which
// most of its features were accepted, the first of them; nil if no session launched both ends.
func Headline(st *store.Store, ends Ends) (best *Comparison) {
	if ends.Pair == nil {
		return nil
	}
	decided := map[string]int{}
	for _, d := range DecisionsInForce(st) {
		if t := stepOf(d.Decision); t != nil {
			decided[t.Metric]++
		}
	}
	most := -1
	for i, c := range ends.Pair.Metrics {
		if c.Change == nil || c.Absolute || c.Better == "" || c.Better == measure.Neither {
			continue
		}
		if n := decided[c.Address(c.Cell)]; n > most {
			most, best = n, &ends.Pair.Metrics[i]
		}
	}
	return best
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
	case "memory_gb":
		return "memory"
	}
	return strings.ReplaceAll(metric, "_", " ")
}

// FeatureNode is the feature that a node decides, if it does; one that confirms it on another
// engine does not.
func FeatureNode(node string) (feature string, ok bool) {
	feature, ok = strings.CutPrefix(node, "feature.")
	return feature, ok && !strings.ContainsAny(feature, ".@")
}

// mostWords is the length of Short.
const mostWords = 8

// Short is what became of a node in at most eight words; empty if it passed, or is not decided.
func Short(r Row) string {
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
			brief = strings.TrimPrefix(brief, r.Name+" ")
		}
		return words(brief)
	}
	against := slices.DeleteFunc(d.Why(), func(r verdict.Reason) bool { return r.Verdict.Unlocks() })
	if len(against) > 0 {
		return words(verdict.Brief(against[0]))
	}
	return verdict.Did(d.Verdict)
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
		return Short(r)
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
func faster(st *store.Store, d *ledger.Decision) bool {
	of, parent := map[string][]*ledger.Launch{}, EvidenceOf(d).Parent.Name
	for _, id := range d.Launches {
		if l, ok := st.LaunchByID(id); ok && l.OK && l.Purpose == ledger.ForBenchmark {
			of[l.Variant] = append(of[l.Variant], l)
		}
	}
	for _, c := range Comparisons(of[parent], of[d.Feature], true, nil) {
		return c.Significant() && (*c.Change > 0) == (c.Better == measure.Higher)
	}
	return false
}
