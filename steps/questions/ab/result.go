package ab

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Result is the outcome of a comparison, as in the last line of --json.
type Result struct {
	Type string `json:"type"` // "ab_result"
	// Verdict is empty after an interruption.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Exit    int             `json:"exit"`
	Said    string          `json:"said"`
	// Metric is the decided metric, in Unit; Claim the question in words, and Gain its
	// threshold: the minimum improvement in the metric's better direction.
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Claim  string  `json:"claim"`
	Gain   float64 `json:"gain"`
	A      Side    `json:"a"`
	B      Side    `json:"b"`
	// Change is B's relative to A's, signed: 0.1 is 10% more. Low and High are the
	// decision bounds: a threshold at the one would just pass, at the other just fail.
	Change *float64 `json:"change,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	// Basis are the launches behind it, of this run and of earlier ones.
	Basis runtime.Basis `json:"basis"`
	// Metrics are others of the same launches, which nothing was decided about.
	Metrics []report.Comparison `json:"metrics,omitempty"`
	Differs []Diff              `json:"differs,omitempty"`
	// Beyond is how many launches per arm are on record beyond those behind the estimate
	// and its bounds.
	Beyond int `json:"beyond,omitempty"`
	// Same counts what both have in common.
	Same    int              `json:"same"`
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	Notes   []verdict.Reason `json:"notes,omitempty"`
	// Tries say which try this is, if not the first.
	Tries   []verdict.Reason `json:"tries,omitempty"`
	Advice  []string         `json:"advice,omitempty"`
	LogTail []string         `json:"log_tail,omitempty"`
	// Stopped is why no more launches were made, as in stats.Outcome.
	Stopped stats.Outcome `json:"stopped,omitempty"`
	// Unfit is the command that did not pass the levels before measuring: "A" or "B".
	Unfit string `json:"unfit,omitempty"`
	Most  int    `json:"most_launches"`
	Run   string `json:"run"`
	State string `json:"state"`
	Plan  string `json:"plan"`

	// Test is the deciding test, at the rates of Rates; Levels are those that both arms
	// had to pass first.
	Test   *verdict.Test   `json:"-"`
	Rates  *gates.Settings `json:"-"`
	Levels []ledger.Level  `json:"-"`
	// Accuracy is the level that graded B's answers; nil if nothing was graded.
	Accuracy *ledger.Level `json:"accuracy,omitempty"`
	// Shown is set if the claim itself passed.
	Shown bool `json:"-"`

	// numbers are the session's launches by ID.
	numbers map[string]int
	q       *Question
}

type Side struct {
	Command  string   `json:"command"`
	Kind     string   `json:"kind"`
	Launches []Launch `json:"launches"`
	// Replaced is how many more did not count and were repeated.
	Replaced int `json:"replaced,omitempty"`
	// Broke is how many of those the server itself ended or failed to finish.
	Broke int `json:"broke,omitempty"`
	// Value is the mean of the launches behind Change, in logs.
	Value *float64 `json:"value,omitempty"`

	// All are its launches that nothing replaces, and Counted those of them that the
	// decision read: there are none if the comparison is invalid.
	All     []*ledger.Launch `json:"-"`
	Counted []*ledger.Launch `json:"-"`
}

// Launch is one start that counts: its number in the progress output, its position among
// all starts, and the metric's median.
type Launch struct {
	ID     string  `json:"id"`
	Number int     `json:"number"`
	Order  int     `json:"order"`
	Value  float64 `json:"value"`
}

// Result collects the outcome of a run from the record.
func (q *Question) Result(st *store.Store, s runtime.Summary, end *ledger.End, at Place) *Result {
	r := &Result{
		q:    q,
		Type: "ab_result", Verdict: end.Verdict, Exit: end.Exit, Metric: q.Claim.Metric.Name, Unit: q.Claim.Metric.Unit,
		Claim: "B " + q.Claim.Says(q.Label()), Gain: q.Claim.Gain, Most: q.Most(), State: at.State, Plan: at.Plan,
		A: Side{Command: q.Arms[0].Text, Kind: q.Kind.Name}, B: Side{Command: q.Arms[1].Text, Kind: q.Kind.Name},
	}
	decided := map[string]*ledger.Decision{}
	for _, row := range s.Rows {
		if row.Decision != nil {
			decided[row.Node.ID] = row.Decision
		}
	}
	r.gather(st, decided)
	if of := decided[runtime.FeatureID("B")]; of != nil {
		r.Tries = of.Tries()
		if len(of.Rules) > 0 {
			r.Rates, r.Shown = of.Statistics, of.Rules[0].Verdict == verdict.Pass
			if claim := of.Rules[0].Comparisons; len(claim) > 0 && claim[0].Test != nil {
				r.Test, r.Stopped = claim[0].Test, claim[0].Test.Stop
			}
		}
	}
	r.compare()
	r.causes(decided)
	r.differences(q)
	return r
}

// gather sorts the launches of the newest session by arm; those of the qualification are
// used if nothing was measured.
func (r *Result) gather(st *store.Store, decided map[string]*ledger.Decision) {
	measured := st.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark})
	session := ""
	if d := decided[runtime.BenchmarkID("B")]; d != nil {
		session = d.Session
	} else if len(measured) > 0 && r.Verdict == "" {
		session = measured[len(measured)-1].Session // interrupted during it
	}
	measured = slices.DeleteFunc(measured, func(l *ledger.Launch) bool { return session == "" || l.Session != session })
	r.numbers = ledger.Numbers(measured)
	counts := (*ledger.Launch).Counts
	if d := decided[runtime.FeatureID("B")]; d != nil {
		read := report.EvidenceOf(d)
		ids := slices.Concat(read.Parent.IDs(), read.Candidate.IDs())
		counts = func(l *ledger.Launch) bool { return slices.Contains(ids, l.ID) }
	}
	for _, side := range []struct {
		*Side
		variant, node string
	}{{&r.A, ledger.Baseline, runtime.BaselineID}, {&r.B, "B", runtime.QualifyID("B")}} {
		for _, l := range measured {
			switch {
			case l.Variant != side.variant:
			case slices.ContainsFunc(measured, func(other *ledger.Launch) bool { return other.Replaces == l.ID }):
				if side.Replaced++; !l.OK {
					side.Broke++
				}
			default:
				if side.All = append(side.All, l); counts(l) {
					side.Counted = append(side.Counted, l)
				}
			}
		}
		if d := decided[side.node]; len(side.All) == 0 && d != nil {
			for _, id := range d.Launches {
				if l, ok := st.LaunchByID(id); ok {
					side.All = append(side.All, l)
				}
			}
		}
	}
}

// compare reads the difference between B and A, with the decision bounds, and the other
// metrics of the launches. An earlier claim may have made more launches than the test read:
// bounds of four do not belong to an estimate of eight.
func (r *Result) compare() {
	column := report.Column{Cell: r.q.Cell, Metric: r.Metric, Stat: "median"}
	var behind [2]report.Arm
	for i, side := range []*Side{&r.A, &r.B} {
		slices.SortFunc(side.Counted, func(x, y *ledger.Launch) int { return x.Order - y.Order })
		for _, l := range side.Counted {
			if s, has := column.Of(l); has && s.Stats[column.Stat] > 0 {
				side.Launches = append(side.Launches, Launch{l.ID, r.numbers[l.ID], l.Order, s.Stats[column.Stat]})
			}
		}
		behind[i].Launches = side.Counted
		if n := r.Test.N(); n > 0 && n < len(side.Counted) {
			behind[i].Launches, r.Beyond = side.Counted[:n], max(r.Beyond, len(side.Counted)-n)
		}
	}
	of := report.Compare(&behind[1], &behind[0], column, report.TestsBy(r.Test))
	if r.Change = of.Change; of.Decided > 0 {
		r.Low, r.High = of.Low, of.High
	}
	if of.Old.N() > 0 && of.New.N() > 0 {
		r.A.Value, r.B.Value = &of.Old.Mean, &of.New.Mean
	}
	for _, m := range report.Comparisons(r.A.Counted, r.B.Counted, true, nil) {
		if m.Name() == column.Name() {
			continue
		}
		if m.Cell == column.Cell { // the only workload
			m.Cell = ""
		}
		r.Metrics = append(r.Metrics, m)
	}
}

func AnyFailed(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return !l.OK })
}

// Measured reports whether a benchmark launch of these ran to its end.
func Measured(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool {
		return l.OK && l.Purpose == ledger.ForBenchmark
	})
}

// causes are why it came out so, in the words of the plan's report: the level that did not pass,
// with the findings of the others, or what the claim lacks. If a command did not pass the levels
// before measuring, nothing was compared, and a fail would read as if B were slower; that B
// crashes and A does not is a result.
func (r *Result) causes(decided map[string]*ledger.Decision) {
	d, who := decided[runtime.FeatureID("B")], "B"
	if d == nil {
		if d, who = decided[runtime.BaselineID], "A"; d == nil || d.Verdict == verdict.Pass { // interrupted later
			if of := decided[runtime.QualifyID("B")]; of != nil {
				r.Levels = of.Levels
			}
			return
		}
	}
	unfit := who == "A" && d.Verdict == verdict.Fail
	for _, l := range d.Levels {
		if r.Reasons != nil {
			break
		}
		if who == "B" {
			r.Levels = append(r.Levels, l)
		}
		if l.Name == plans.EvalLevel && who == "B" {
			l.Reasons = r.q.reworded(l.Reasons)
			r.Accuracy = &l
		}
		if l.Verdict == verdict.Pass && l.Name == plans.BenchmarkLevel {
			r.Notes = append(r.Notes, r.q.reworded(l.Reasons)...)
		}
		if l.Verdict == verdict.Pass || decide.LosesAccuracy(l) {
			continue
		}
		why := l.Reasons
		if l.Name != plans.BenchmarkLevel {
			why, unfit = []verdict.Reason{l.Reason()}, l.Verdict == verdict.Fail
		}
		r.Reasons, r.LogTail = r.q.reworded(why), d.LogTail
	}
	if unfit && !verdict.Holds(r.Reasons, code.CrashedAgain.Kind) {
		r.Unfit, r.Verdict, r.Exit = who, verdict.Invalid, verdict.Invalid.ExitCode()
	}
	if r.Reasons != nil {
		return
	}
	for _, why := range d.Why() {
		if why.AnyOf(code.TunePinned, code.Unchecked, code.Declared) && !verdict.Holds(r.Notes, why.Kind) {
			r.Notes = append(r.Notes, why)
		}
	}
	if (r.Test == nil || r.Stopped == "") && d.Verdict != verdict.Pass { // else numbers and test show it
		r.Reasons = r.q.reworded(report.Causes(d))
	}
}

// reworded are reasons for who asked.
func (q *Question) reworded(list []verdict.Reason) (own []verdict.Reason) {
	for _, of := range list {
		own = append(own, q.Reworded(of))
	}
	return own
}

// Reworded is a reason for who asked: the baseline is A. Without a plan of theirs a metric loses
// its workload, the only one, and flags replace what a plan would declare.
func (q *Question) Reworded(r verdict.Reason) verdict.Reason {
	rename := func(text string) string {
		if metric, ok := strings.CutPrefix(text, "bench."); ok && q.Of == nil && !strings.Contains(metric, " ") {
			return strings.TrimSuffix(metric, ".gain")
		}
		return armName(text)
	}
	r = r.From(q.reworded(r.Causes)...)
	args := verdict.Values{}
	for name, v := range sorted.All(r.Values) {
		v.Text, v.List = rename(v.Text), slices.Clone(v.List)
		for i := range v.List {
			v.List[i] = rename(v.List[i])
		}
		args[name] = v
	}
	switch {
	case r.Kind == code.EnvironmentChanged.Kind, r.Kind == code.EnvironmentApart.Kind:
		args["advised"] = verdict.Value{Text: "yes"}
	case q.Of != nil: // its advice is about the plan
	case r.Kind == code.DiffersUntested.Kind:
		delete(args, "knobs")
	case r.Kind == code.SelfDisagrees.Kind:
		args["remedy"] = verdict.Value{Text: "--answers unchecked"}
	case r.Kind == code.AgreementOpen.Kind && (q.Answers == "" || q.Answers == "checked"):
		args["remedy"] = verdict.Value{Text: "--answers 0.8"}
	case r.Kind == code.WrongPort.Kind && len(q.Images) == 0:
		args["flag"] = verdict.Value{Text: "--url http://localhost:" + args["at"].Text}
	case r.Kind == code.WrongPort.Kind:
		args["flag"] = verdict.Value{Text: "-- --port " + args["placeholder"].Text}
	case r.Kind == code.WokenLate.Kind:
		args["flag"] = verdict.Value{Text: "--max-lag"}
	}
	if r.Subject, r.Values = rename(r.Subject), args; len(args) == 0 {
		r.Values = nil
	}
	return r
}

// Reword rewords events for who asked.
func (q *Question) Reword(ev runtime.Event) runtime.Event {
	ev.Variant, ev.Why = armName(ev.Variant), q.Reworded(ev.Why)
	ev.Phase, ev.Feature = "", ""
	switch ev.Type {
	case "node_done", "node_locked", "node_started":
		ev.Type = "" // the result has it
	}
	ev.Node = "ab"
	return ev
}

// armName is A for a plan's baseline.
func armName(variant string) string {
	if variant == ledger.Baseline {
		return "A"
	}
	return variant
}
