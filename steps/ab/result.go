package ab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
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
	Metrics []report.Delta `json:"metrics,omitempty"`
	Differs []Diff         `json:"differs,omitempty"`
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
	// Stopped is why no more launches were made, as in verdict.Stop.
	Stopped verdict.Stop `json:"stopped,omitempty"`
	// Unfit is the command that did not pass the levels before measuring: "A" or "B".
	Unfit string `json:"unfit,omitempty"`
	Most  int    `json:"most_launches"`
	Run   string `json:"run"`
	State string `json:"state"`
	Plan  string `json:"plan"`

	// Test is what decided, at the rates of Rates; Levels are what both had to pass
	// first.
	Test   *verdict.Test      `json:"-"`
	Rates  *ledger.Statistics `json:"-"`
	Levels []ledger.Level     `json:"-"`

	// numbers are those of the session's launches, and named their names in the progress
	// output, "3 again (B)", by ID.
	numbers map[string]int
	named   map[string]string
}

// Side is one command and its launches.
type Side struct {
	Command  string   `json:"command"`
	Kind     string   `json:"kind"`
	Launches []Launch `json:"launches"`
	// Replaced is how many more did not count and were repeated.
	Replaced int `json:"replaced,omitempty"`
	// Broke is how many of those the server itself ended or failed to finish.
	Broke int `json:"broke,omitempty"`
	// Value is the mean of the launches, in logs.
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
	r.gather(st, decided, q.Claim.Metric.Name)
	r.estimate(q.Claim, decided[runtime.FeatureID("B")])
	r.causes(decided)
	r.beforeMeasuring(decided)
	if d := decided[runtime.FeatureID("B")]; d != nil {
		r.Tries = d.Tries()
	}
	r.differences(q)
	return r
}

// gather sorts the launches of the newest session by arm; those of the qualification are
// used if nothing was measured.
func (r *Result) gather(st *store.Store, decided map[string]*ledger.Decision, metric string) {
	measured := st.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark})
	session := ""
	if d := decided[runtime.BenchmarkID("B")]; d != nil {
		session = d.Session
	}
	if session == "" && decided[runtime.BenchmarkID("B")] == nil && len(measured) > 0 {
		session = measured[len(measured)-1].Session // interrupted during it
	}
	r.number(st, session)
	counts := (*ledger.Launch).Counts
	if d := decided[runtime.FeatureID("B")]; d != nil {
		counts = func(l *ledger.Launch) bool {
			return slices.ContainsFunc(d.Evidence, func(e ledger.Evidence) bool {
				return slices.Contains(e.Parent.Launches, l.ID) || slices.Contains(e.Candidate.Launches, l.ID)
			})
		}
	}
	for _, side := range []struct {
		*Side
		variant, node string
	}{{&r.A, "baseline", runtime.BaselineID}, {&r.B, "B", runtime.QualifyID("B")}} {
		for _, l := range measured {
			if l.Variant != side.variant || l.Session != session || session == "" {
				continue
			}
			if again(l, measured) {
				side.Replaced++
				if !l.OK {
					side.Broke++
				}
				continue
			}
			if side.All = append(side.All, l); !counts(l) {
				continue
			}
			side.Counted = append(side.Counted, l)
			if s := l.Metrics["bench."+metric]; s.Stats["median"] > 0 {
				side.Launches = append(side.Launches, Launch{l.ID, r.numbers[l.ID], l.Order, s.Stats["median"]})
			}
		}
		if d := decided[side.node]; len(side.All) == 0 && d != nil {
			for _, id := range d.Launches {
				if l, ok := st.LaunchByID(id); ok {
					side.All = append(side.All, l)
				}
			}
		}
		slices.SortFunc(side.Launches, func(x, y Launch) int { return x.Order - y.Order })
	}
}

// again reports whether another launch replaces one that does not count.
func again(l *ledger.Launch, all []*ledger.Launch) bool {
	return slices.ContainsFunc(all, func(other *ledger.Launch) bool { return other.Replaces == l.ID })
}

// number determines the numbers of a session's launches in the progress output.
func (r *Result) number(st *store.Store, session string) {
	r.numbers, r.named = map[string]int{}, map[string]string{}
	if session == "" {
		return
	}
	launches := st.Launches(store.LaunchFilter{Session: session})
	r.numbers = ledger.Numbers(launches)
	for _, l := range launches {
		again := ""
		if l.Replaces != "" {
			again = " again"
		}
		r.named[l.ID] = fmt.Sprintf("%d%s (%s)", r.numbers[l.ID], again, armName(l.Variant))
	}
}

// estimate fills in the difference between B and A, with the decision bounds.
func (r *Result) estimate(c Claim, d *ledger.Decision) {
	defer r.level()
	if d == nil || len(d.Rules) == 0 {
		return
	}
	r.Rates = d.Statistics
	for _, cmp := range d.Rules[0].Comparisons {
		if r.Test = cmp.Test; r.Test == nil {
			continue
		}
		r.Stopped = r.Test.Stop
		for _, bound := range []*float64{r.Test.Low, r.Test.High} {
			if bound == nil || math.IsNaN(*bound) || math.IsInf(*bound, 0) {
				return
			}
		}
		low, high := c.Change(*r.Test.Low), c.Change(*r.Test.High)
		if low > high {
			low, high = high, low
		}
		r.Low, r.High = &low, &high
		return
	}
}

// level fills in the values of A and B, and their difference, over the launches behind
// the bounds: an earlier claim may have made more, and bounds of four do not belong to an
// estimate of eight.
func (r *Result) level() {
	for _, side := range []*Side{&r.A, &r.B} {
		all := values(side.Launches)
		if r.Test != nil && len(r.Test.Looks) > 0 {
			n := min(len(all), r.Test.Looks[len(r.Test.Looks)-1].N)
			all, r.Beyond = all[:n], max(r.Beyond, len(all)-n)
		}
		if m, err := stats.Mean(all); err == nil {
			side.Value = &m
		}
	}
	if r.A.Value != nil && r.B.Value != nil && *r.A.Value > 0 {
		change := *r.B.Value / *r.A.Value - 1
		r.Change = &change
	}
}

func values(launches []Launch) (list []float64) {
	for _, l := range launches {
		list = append(list, l.Value)
	}
	return list
}

// Spread is the standard deviation of the logs of launches.
func Spread(launches []Launch) (sd float64, ok bool) {
	sd, df := stats.Pool([][]float64{values(launches)})
	return sd, df > 0
}

// Broke reports whether a launch broke.
func Broke(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return !l.OK })
}

func (r *Result) LevelsPassed() bool {
	return !slices.ContainsFunc(r.Levels, func(l ledger.Level) bool { return l.Verdict != verdict.Pass })
}

// Told reports whether the servers themselves show that the change took effect.
func (r *Result) Told() bool {
	return slices.ContainsFunc(r.Differs, func(d Diff) bool {
		return d.Observed && d.Intended != ""
	})
}

// beforeMeasuring checks whether a command, A or B, did not pass the levels before
// measuring: then nothing was compared, and a fail would read as if B were slower. That B
// crashes and A does not is a result.
func (r *Result) beforeMeasuring(decided map[string]*ledger.Decision) {
	for _, side := range [][2]string{{"A", runtime.BaselineID}, {"B", runtime.QualifyID("B")}} {
		if d := decided[side[1]]; d != nil && d.Verdict == verdict.Fail && !verdict.Holds(d.Reasons, code.CrashedAgain) {
			r.Unfit, r.Verdict, r.Exit = side[0], verdict.Invalid, verdict.Invalid.ExitCode()
			return
		}
	}
}

// causes are the reasons for the verdict, from the first node that did not pass; and the
// findings of both commands' levels.
func (r *Result) causes(decided map[string]*ledger.Decision) {
	for _, node := range []string{runtime.BaselineID, runtime.QualifyID("B"), runtime.BenchmarkID("B")} {
		d := decided[node]
		if d == nil {
			continue
		}
		for _, l := range d.Levels {
			if node != runtime.BaselineID {
				r.Levels = append(r.Levels, l)
			}
			if l.Verdict == verdict.Pass && l.Name == "benchmark" {
				r.Notes = append(r.Notes, r.reasons(l.Reasons)...)
			}
		}
		if d.Verdict == verdict.Pass {
			continue
		}
		who := map[string]string{runtime.BaselineID: "A", runtime.QualifyID("B"): "B"}[node]
		for _, l := range d.Levels {
			if l.Verdict != verdict.Pass {
				for _, reason := range r.reasons(l.Reasons) {
					if who != "" && reason.Code != code.CrashedAgain {
						reason = verdict.New(code.ArmSays).On(who).From(reason)
					}
					r.Reasons = append(r.Reasons, reason)
				}
				break
			}
		}
		if len(d.Levels) == 0 {
			r.Reasons = append(r.Reasons, r.reasons(d.Reasons)...)
		}
		r.LogTail = d.LogTail
		return
	}
	d := decided[runtime.FeatureID("B")]
	if d != nil {
		r.Notes = append(r.Notes, slices.DeleteFunc(slices.Clone(d.Reasons), func(why verdict.Reason) bool {
			return why.Code != code.TunePinned && why.Code != code.Unchecked && why.Code != code.Declared
		})...)
	}
	if r.Test != nil && r.Stopped != "" {
		return // numbers and test show it
	}
	if d != nil && d.Verdict != verdict.Pass {
		for _, rule := range d.Rules {
			r.Reasons = append(r.Reasons, r.reasons(rule.Reasons)...)
		}
	}
}

// reason rewords a reason of a decision for a user without a plan, with the session's
// launches named as in the progress output.
func (r *Result) reason(of verdict.Reason) verdict.Reason { return Reworded(of, r.named) }

func (r *Result) reasons(list []verdict.Reason) (own []verdict.Reason) {
	for _, of := range list {
		own = append(own, r.reason(of))
	}
	return own
}

// Reworded is a reason for a user without a plan: A replaces the baseline, a metric loses
// its workload, the only one, a launch gets its name, if any, and flags replace what a
// plan would declare. Advice uses flags too.
func Reworded(r verdict.Reason, launches map[string]string) verdict.Reason {
	rename := func(text string) string {
		if name, ok := launches[text]; ok {
			return name
		}
		if metric, ok := strings.CutPrefix(text, "bench."); ok && !strings.Contains(metric, " ") {
			return strings.TrimSuffix(metric, ".gain")
		}
		return armName(text)
	}
	r = r.From(r.Causes...)
	for i, c := range r.Causes {
		r.Causes[i] = Reworded(c, launches)
	}
	args := verdict.Args{}
	for name, v := range r.Args {
		if name != "recorded" { // by which it is looked up
			v.Text, v.List = rename(v.Text), slices.Clone(v.List)
			for i := range v.List {
				v.List[i] = rename(v.List[i])
			}
		}
		args[name] = v
	}
	switch r.Code {
	case code.DiffersUntested:
		delete(args, "knobs")
	case code.EnvironmentChanged, code.EnvironmentApart:
		args["advised"] = verdict.Value{Text: "yes"}
	case code.WokenLate:
		args["flag"] = verdict.Value{Text: "--max-lag"}
	}
	if r.Subject, r.Args = rename(r.Subject), args; len(args) == 0 {
		r.Args = nil
	}
	return r
}

// Reword rewords events for a user without a plan.
func Reword(ev runtime.Event) runtime.Event {
	ev.Variant, ev.Why = armName(ev.Variant), Reworded(ev.Why, nil)
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

// metrics fills in the other metrics of the launches.
func (r *Result) metrics() {
	decided := r.Metric
	for _, d := range report.Deltas(r.A.Counted, r.B.Counted, true, nil) {
		if d.Cell == "bench" { // the only workload
			d.Cell = ""
		}
		if d.Cell != "" || d.Metric != decided || d.Stat != "median" {
			r.Metrics = append(r.Metrics, d)
		}
	}
}

// busyCPUs is the share of busy processors above which programs wait for each other.
const busyCPUs = 0.9

// Busy reports whether the machine had no spare capacity, which makes launches vary, and
// the share of its processors that was busy.
func (r *Result) Busy() (share float64, busy bool) {
	all := report.Arm{Launches: slices.Concat(r.A.Counted, r.B.Counted)}
	v, ok := all.Of("host.cpu_share", "median")
	return v.Mean.Mean, ok && v.Mean.Mean >= busyCPUs
}
