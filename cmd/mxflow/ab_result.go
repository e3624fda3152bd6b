package main

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// abResult is how a comparison came out, as the last line of --json has it.
type abResult struct {
	Type string `json:"type"` // "ab_result"
	// Verdict is empty after an interruption.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Exit    int             `json:"exit"`
	Said    string          `json:"said"`
	// Metric is what was decided about, in Unit; Claim the question in words, and
	// Gain its threshold: the least improvement in the metric's better direction.
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Claim  string  `json:"claim"`
	Gain   float64 `json:"gain"`
	A      abSide  `json:"a"`
	B      abSide  `json:"b"`
	// Change is B's against A's as a share, signed: 0.1 is 10% more. Low and High
	// bound it as the decision did: a claim of the one would just pass, one of the
	// other just fail.
	Change *float64 `json:"change,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	// Metrics are others of the same launches, which nothing was decided about.
	Metrics []abRow  `json:"metrics,omitempty"`
	Differs []abDiff `json:"differs,omitempty"`
	// Same counts what both were found to have in common.
	Same    int              `json:"same"`
	Reasons []verdict.Reason `json:"reasons,omitempty"`
	Notes   []verdict.Reason `json:"notes,omitempty"`
	// Moved is what was asked otherwise when these launches were seen first, and how
	// often they were made from the start: then the error rates do not hold.
	Moved   []verdict.Reason `json:"moved,omitempty"`
	Advice  []string         `json:"advice,omitempty"`
	LogTail []string         `json:"log_tail,omitempty"`
	// Stopped is why no more launches were made, as in verdict.Stop.
	Stopped verdict.Stop `json:"stopped,omitempty"`
	// Unfit is the command that did not pass what comes before measuring: "A" or "B".
	Unfit string `json:"unfit,omitempty"`
	Most  int    `json:"most_launches"`
	Run   string `json:"run"`
	State string `json:"state"`
	Plan  string `json:"plan"`

	// numbers are those of the session's launches, and named how the progress called
	// them, "3 again (B)", by ID.
	numbers map[string]int
	named   map[string]string
	test    *verdict.Test
	rates   *ledger.Statistics
	levels  []ledger.Level
}

// abSide is one command and its launches.
type abSide struct {
	Command  string     `json:"command"`
	Kind     string     `json:"kind"`
	Launches []abLaunch `json:"launches"`
	// Replaced is how many more did not count and were made again in their place.
	Replaced int `json:"replaced,omitempty"`
	// Broke is how many of those the server itself ended or could not finish.
	Broke int `json:"broke,omitempty"`
	// Value is the mean of the launches, in logs.
	Value *float64 `json:"value,omitempty"`

	all []*ledger.Launch
}

// abLaunch is one start that counts: its number as the progress had it, its place
// among all starts, and the metric's median.
type abLaunch struct {
	ID     string  `json:"id"`
	Number int     `json:"number"`
	Order  int     `json:"order"`
	Value  float64 `json:"value"`
}

// result gathers how a run came out from what is on record.
func (q *ab) result(st *store.Store, s runtime.Summary, end *ledger.End, at abPlace) *abResult {
	r := &abResult{
		Type: "ab_result", Verdict: end.Verdict, Exit: end.Exit, Metric: q.claim.Metric.Name, Unit: q.claim.Metric.Unit,
		Claim: "B " + q.claim.says(q.label()), Gain: q.claim.Gain, Most: q.most(), State: at.state, Plan: at.plan,
		A: abSide{Command: q.arms[0].Text, Kind: q.kind.Name}, B: abSide{Command: q.arms[1].Text, Kind: q.kind.Name},
	}
	decided := map[string]*ledger.Decision{}
	for _, row := range s.Rows {
		if row.Decision != nil {
			decided[row.Node.ID] = row.Decision
		}
	}
	r.gather(st, decided, q.claim.Metric.Name)
	r.estimate(q.claim, decided[runtime.FeatureID("B")])
	r.causes(decided)
	r.beforeMeasuring(decided)
	if history := st.History(runtime.FeatureID("B")); decided[runtime.FeatureID("B")] != nil && len(history) > 0 {
		r.Moved = report.DecidedAgain(st, history[len(history)-1])
	}
	r.differences(q)
	return r
}

// gather sorts the launches of the newest session by arm; those of the
// qualification stand in where nothing was measured.
func (r *abResult) gather(st *store.Store, decided map[string]*ledger.Decision, metric string) {
	measured := st.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark})
	session := ""
	if d := decided[runtime.BenchmarkID("B")]; d != nil {
		session = d.Session
	}
	if session == "" && decided[runtime.BenchmarkID("B")] == nil && len(measured) > 0 {
		session = measured[len(measured)-1].Session // interrupted in it
	}
	r.number(st, session)
	for _, side := range []struct {
		*abSide
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
			side.all = append(side.all, l)
			if s, ok := l.Metrics["bench."+metric]; ok && l.OK && len(l.Invalid) == 0 && s.Stats["median"] > 0 {
				side.Launches = append(side.Launches, abLaunch{l.ID, r.numbers[l.ID], l.Order, s.Stats["median"]})
			}
		}
		if d := decided[side.node]; len(side.all) == 0 && d != nil {
			for _, id := range d.Launches {
				if l, ok := st.LaunchByID(id); ok {
					side.all = append(side.all, l)
				}
			}
		}
		slices.SortFunc(side.Launches, func(x, y abLaunch) int { return x.Order - y.Order })
	}
}

// again reports whether another launch was made in the place of one that does not
// count.
func again(l *ledger.Launch, all []*ledger.Launch) bool {
	return slices.ContainsFunc(all, func(other *ledger.Launch) bool { return other.Replaces == l.ID })
}

// reason is one of a decision as who has no plan understands it, with the launches of
// the session named as the progress did.
func (r *abResult) reason(of verdict.Reason) verdict.Reason { return abReason(of, r.named) }

func (r *abResult) reasons(list []verdict.Reason) (own []verdict.Reason) {
	for _, of := range list {
		own = append(own, r.reason(of))
	}
	return own
}

// abReason is a reason as who has no plan understands it: A stands for the baseline, a
// metric without the workload that is the only one, a launch under its name, where it
// has one, and a flag for what a plan would declare. What a plan's owner could do is
// said as advice, in flags too.
func abReason(r verdict.Reason, launches map[string]string) verdict.Reason {
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
		r.Causes[i] = abReason(c, launches)
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

func values(launches []abLaunch) (list []float64) {
	for _, l := range launches {
		list = append(list, l.Value)
	}
	return list
}

// estimate fills in how far B is from A, with the bounds of the decision.
func (r *abResult) estimate(c abClaim, d *ledger.Decision) {
	for _, side := range []*abSide{&r.A, &r.B} {
		if m, err := stats.Mean(values(side.Launches)); err == nil {
			side.Value = &m
		}
	}
	if r.A.Value != nil && r.B.Value != nil && *r.A.Value > 0 {
		change := *r.B.Value / *r.A.Value - 1
		r.Change = &change
	}
	if d == nil || len(d.Rules) == 0 {
		return
	}
	r.rates = d.Statistics
	for _, cmp := range d.Rules[0].Comparisons {
		if r.test = cmp.Test; r.test == nil {
			continue
		}
		r.Stopped = r.test.Stop
		for _, bound := range []*float64{r.test.Low, r.test.High} {
			if bound == nil || math.IsNaN(*bound) || math.IsInf(*bound, 0) {
				return
			}
		}
		low, high := c.change(*r.test.Low), c.change(*r.test.High)
		if low > high {
			low, high = high, low
		}
		r.Low, r.High = &low, &high
		return
	}
}

// number finds out under which numbers the progress had the launches of a session.
func (r *abResult) number(st *store.Store, session string) {
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

// compared says what was measured, so that the result can be read where the
// command line was not seen: the commands, what they were sent, on what.
func (s *abShow) compared(r *abResult) [][2]string {
	return [][2]string{
		{"A", oneLine(s.q.arms[0].Text)},
		{"B", oneLine(s.q.arms[1].Text)},
		{"load", s.q.sent()},
		{"both", wrap(r.shared(s.q), s.columnBehind(len("  machine  ")))},
		{"machine", imported.Printable(machineWords(slices.Concat(r.A.all, r.B.all)))},
	}
}

// sent is what a launch was sent.
func (q *ab) sent() string {
	text := fmt.Sprintf("%s in", count(q.pp, "token"))
	if q.depth > 0 {
		text += fmt.Sprintf(" after %d of context", q.depth)
	}
	text += fmt.Sprintf(", %d out, %d at a time; %s a launch after %d to warm up", q.tg, max(q.concurrency, 1), count(q.requests, "request"), q.warmup)
	if q.api != "completions" && q.api != "" {
		text += "; " + q.api
	}
	return text
}

// shared is what both servers said of themselves alike: their version first.
func (r *abResult) shared(q *ab) string {
	var version string
	var same []string
	seen := map[string]bool{}
	for _, p := range q.kind.Observe {
		if p.Varies || seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		a := said(r.A.all, p.Name)
		if a == "not said" || a != said(r.B.all, p.Name) {
			continue
		}
		same = append(same, p.Name+" "+strings.Trim(a, `"`))
	}
	if v := said(r.A.all, "version"); v != "not said" && v == said(r.B.all, "version") {
		version = " " + strings.Trim(v, `"`)
	}
	if version == "" && len(same) == 0 {
		return ""
	}
	return imported.Printable(strings.Join(append([]string{q.kind.Name + version}, same...), ", "))
}

// machineWords are what launches ran on, as far as all agree.
func machineWords(launches []*ledger.Launch) string {
	var parts []string
	for _, e := range []struct{ name, format string }{{"gpu", "%s"}, {"driver", "driver %s"}, {"cpu", "%s"}, {"cores", "%s cores"}, {"mem_gib", "%s GiB"}, {"os", "%s"}} {
		if v := entries(launches, e.name); v != "" && !strings.Contains(v, unknownEntry) {
			parts = append(parts, fmt.Sprintf(e.format, v))
		}
	}
	return strings.Join(parts, ", ")
}

// tellsPort reports whether a variable does no more than tell a server its port, or
// does not stand there at all.
func tellsPort(value string) bool { return value == unset || value == "{port}" }

// unset stands for a variable that a command has not.
const unset = "–"

func setTo(env map[string]string, name string) string {
	if v, ok := env[name]; ok {
		return v
	}
	return unset
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// conclude says in one sentence how it came out, and what can be done.
func (r *abResult) conclude(q *ab, end *ledger.End) {
	n := min(len(r.A.Launches), len(r.B.Launches))
	label := q.label()
	switch {
	case end.Reason.Code == code.Interrupted:
		r.Said = fmt.Sprintf("Interrupted: %s of A and %d of B are on record.", count(len(r.A.Launches), "launch"), len(r.B.Launches))
		r.Advice = []string{"The same command goes on where it stopped."}
		return
	case r.Verdict == verdict.Pass:
		r.Said = "B " + q.claim.says(label) + "."
	case r.Verdict == verdict.Fail && r.Stopped == verdict.StopScreen:
		r.Said = fmt.Sprintf("B %s: so far off that one launch of each shows it.", q.claim.not(label))
	case r.Verdict == verdict.Fail && n > 0 && len(r.LogTail) == 0 && r.levelsPassed():
		r.Said = "B " + q.claim.not(label) + "." + r.worse(q.claim)
	case r.Unfit != "":
		r.Said = r.Unfit + " did not pass what comes before measuring, so nothing was compared."
	case r.Verdict == verdict.Fail:
		r.Said = "Nothing was compared."
	case r.Verdict == verdict.Inconclusive && n > 0:
		r.Said = fmt.Sprintf("%s of each do not say whether B %s.", tell.Launches(n), q.claim.says(label))
		if n == 1 {
			r.Said = fmt.Sprintf("One launch of each does not say whether B %s.", q.claim.says(label))
		}
		r.openAdvice(q, n)
	case r.Verdict == verdict.Inconclusive:
		r.Said = "Nothing was measured, so nothing is decided."
	case r.Verdict == verdict.Invalid:
		r.Said = "The comparison does not count."
	case brokeIn(r.B.all):
		r.Said = "The server of B broke, so nothing is decided."
	case brokeIn(r.A.all):
		r.Said = "The server of A broke, so nothing is decided."
	default:
		r.Said = "A server or mxflow broke, so nothing is decided."
	}
	if r.Verdict == verdict.Pass && !q.claim.Given {
		r.Said += r.whichWay(q.claim)
	}
	if !q.proves() && !r.told() && r.Verdict.Decided() {
		r.Advice = append(r.Advice, "Nothing proves that the change took effect. Name a line of B's log that shows it: --must-see-b '*…*'.")
	}
}

// told reports whether the servers themselves say that the change took effect.
func (r *abResult) told() bool {
	return slices.ContainsFunc(r.Differs, func(d abDiff) bool {
		return d.observed && d.Intended != ""
	})
}

// brokeIn reports whether a launch broke.
func brokeIn(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return !l.OK })
}

func (r *abResult) levelsPassed() bool {
	for _, l := range r.levels {
		if l.Verdict != verdict.Pass {
			return false
		}
	}
	return true
}

// whichWay says beside "not slower" whether it is faster at all, as far as the
// bounds show it.
func (r *abResult) whichWay(c abClaim) string {
	if r.Low == nil || r.High == nil {
		return ""
	}
	low, high := c.change(*r.Low), c.change(*r.High)
	if low > high {
		low, high = high, low
	}
	better, worse := "faster", "slower"
	switch {
	case low > 0:
		return fmt.Sprintf(" It is %s, by %s at least.", better, percent(low))
	case high < 0:
		return fmt.Sprintf(" It is %s, by %s at most.", worse, percent(low))
	}
	return fmt.Sprintf(" Whether it is %s stays open.", better)
}

// settles is how far B has to be from a claim for launches of each to tell it in
// four of five cases, in standard deviations between launches.
func settles(launches int, d stats.Design) float64 {
	return stats.Resolvable(launches, d.Pass, 0.8, false)
}

// openAdvice says what would settle what stayed open.
func (r *abResult) openAdvice(q *ab, n int) {
	if q.quick {
		r.Advice = append(r.Advice, "The same command without --quick goes on from these launches.")
		return
	}
	a, okA := logSpread(r.A.Launches)
	b, okB := logSpread(r.B.Launches)
	if !okA || !okB || r.Change == nil {
		return
	}
	sd := math.Sqrt((a*a + b*b) / 2)
	gain := q.claim.change(*r.Change)
	gap := math.Abs(math.Log1p(gain) - math.Log1p(q.claim.Gain))
	if q.claim.lower() {
		gap = math.Abs(math.Log1p(-gain) - math.Log1p(-q.claim.Gain))
	}
	usual := plans.UsualDecision()
	design, err := stats.Offer(usual.FalsePass, usual.FalseFail, usual.Min, max(usual.Max, q.most()), false)
	if err != nil {
		return
	}
	for _, at := range design.Looks {
		if at > n && settles(at, design)*sd <= gap && r.Stopped != verdict.StopFutile {
			r.Advice = append(r.Advice, fmt.Sprintf("%d launches of each would probably settle it: launches vary by %s, and B is %s from the claim. The same command with --launches %d goes on from these.", at, percent(sd), percent(gap), at))
			return
		}
	}
	last := design.Last()
	r.Advice = append(r.Advice, r.busy()...)
	r.Advice = append(r.Advice, fmt.Sprintf("Launches vary by %s, so that %d of each tell B from the claim where it is %s off; it is %s off. Make starts more alike (clocks, other load, warm-up), or claim what these launches show.", percent(sd), last, percent(settles(last, design)*sd), percent(gap)))
}

// logSpread is the standard deviation of the logs of launches.
func logSpread(launches []abLaunch) (sd float64, ok bool) {
	sd, df := stats.Pool([][]float64{values(launches)})
	return sd, df > 0
}

// percent is a share without its sign: "19.3%", and more digits of a small one.
func percent(share float64) string {
	return strings.TrimPrefix(tell.Percent(math.Abs(share), 1), "+")
}

// beforeMeasuring sees whether one of the commands did not pass what comes before
// measuring, be it A or B: then nothing was compared, and a fail would read as if B
// were shown to be slower.
func (r *abResult) beforeMeasuring(decided map[string]*ledger.Decision) {
	for _, side := range [][2]string{{"A", runtime.BaselineID}, {"B", runtime.QualifyID("B")}} {
		if d := decided[side[1]]; d != nil && d.Verdict == verdict.Fail {
			r.Unfit, r.Verdict, r.Exit = side[0], verdict.Invalid, verdict.Invalid.ExitCode()
			return
		}
	}
}

// causes are why it came out so, from the first node that did not pass; and what
// the levels of both said.
func (r *abResult) causes(decided map[string]*ledger.Decision) {
	for _, node := range []string{runtime.BaselineID, runtime.QualifyID("B"), runtime.BenchmarkID("B")} {
		d := decided[node]
		if d == nil {
			continue
		}
		for _, l := range d.Levels {
			if node != runtime.BaselineID {
				r.levels = append(r.levels, l)
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
					if who != "" {
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
	if r.test != nil && r.Stopped != "" {
		return // the numbers say it, and the test how
	}
	if d := decided[runtime.FeatureID("B")]; d != nil && d.Verdict != verdict.Pass {
		for _, rule := range d.Rules {
			r.Reasons = append(r.Reasons, r.reasons(rule.Reasons)...)
		}
	}
}

// abRow is a metric of both.
type abRow struct {
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	A      float64 `json:"a"`
	B      float64 `json:"b"`
	Change float64 `json:"change"`
	// Low and High bound Change: the 95% interval over launches, absent where
	// there are too few. Better is said where it leaves out no change at all.
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Better string   `json:"better,omitempty"`
}

// metrics are those that people look at beside the one that decides.
func (r *abResult) metrics(q *ab) {
	for _, m := range []struct{ address, label string }{
		{"bench.tg", fmt.Sprintf("tg%d%s", q.tg, q.load())},
		{"bench.pp", fmt.Sprintf("pp%d%s", q.pp, q.load())},
		{"bench.ttft", "ttft"},
		{"bench.e2e", "e2e"},
		{"bench.tg_total", "tg in total"},
		{"bench.power_w", "power"},
		{"bench.joules_per_token", "energy per token"},
		{"gpu.memory_gb", "GPU memory"},
		{"engine.memory_gb", "host memory"},
		{"engine.startup_s", "start-up"},
	} {
		allA, unit := medians(r.A.all, m.address)
		allB, _ := medians(r.B.all, m.address)
		a, okA := meanOf(allA)
		b, okB := meanOf(allB)
		name := strings.TrimPrefix(m.address, "bench.")
		if !okA || !okB || name == q.claim.Metric.Name || name == "tg_total" && q.concurrency < 2 {
			continue
		}
		row := abRow{Metric: m.label, Unit: unit, A: a, B: b, Change: b/a - 1}
		apart := row.bound(allA, allB)
		if known, ok := measure.Lookup(name[strings.LastIndexByte(name, '.')+1:]); ok && apart {
			row.Better = "worse"
			if known.Better == measure.Neither {
				row.Better = ""
			} else if b > a == (known.Better == measure.Higher) {
				row.Better = "better"
			}
		}
		r.Metrics = append(r.Metrics, row)
	}
}

// bound fills in the interval of the change over launches, and reports whether
// it leaves out no change at all.
func (row *abRow) bound(a, b []float64) (apart bool) {
	d, err := stats.LogDifference(b, a)
	if err != nil || !d.Bounded {
		return false
	}
	low, high := math.Expm1(d.Low), math.Expm1(d.High)
	if math.IsInf(high, 0) {
		return false
	}
	row.Low, row.High = &low, &high
	return low > 0 || high < 0
}

// medians are a metric's values, one of each launch that counts, and its unit.
func medians(launches []*ledger.Launch, address string) (all []float64, unit string) {
	for _, l := range launches {
		if s, has := l.Metrics[address]; has && l.OK && l.Purpose == ledger.ForBenchmark {
			all, unit = append(all, s.Stats["median"]), s.Unit
		}
	}
	return all, unit
}

func meanOf(values []float64) (mean float64, ok bool) {
	mean, err := stats.Mean(values)
	return mean, err == nil && len(values) > 0 && mean > 0
}

// busyCPUs is a share of the machine's processors from which on programs wait for
// each other.
const busyCPUs = 0.9

// busy says that the machine had nothing to spare, which makes launches vary.
func (r *abResult) busy() []string {
	shares, _ := medians(slices.Concat(r.A.all, r.B.all), "host.cpu_share")
	mean, err := stats.ArithmeticMean(shares)
	if err != nil || len(shares) == 0 || mean < busyCPUs {
		return nil
	}
	return []string{fmt.Sprintf("The machine's processors were %.0f%% busy while it was measured. If that is more than the servers take, something else ran here.", 100*mean)}
}

// abDiff is one thing in which A and B differ.
type abDiff struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
	// Intended is why it may differ; empty where nobody said that it may.
	Intended string `json:"intended,omitempty"`
	// observed is set for what the servers say of themselves.
	observed bool
}

// differences are the metrics of both arms, and all in which they are known to
// differ: what the commands say, what the servers say of themselves, what was
// found out about their environments.
func (r *abResult) differences(q *ab) {
	r.metrics(q)
	is := "yes: it is what is compared"
	own := q.shape.Own
	for _, name := range slices.Sorted(maps.Keys(union(own[0].Env, own[1].Env))) {
		d := abDiff{What: name, A: setTo(own[0].Env, name), B: setTo(own[1].Env, name), Intended: is}
		if tellsPort(d.A) && tellsPort(d.B) {
			d.Intended = "yes: it says where one listens"
		}
		r.Differs = append(r.Differs, d)
	}
	switch {
	case own[1].Command != nil:
		r.Differs = append(r.Differs, abDiff{What: "command", A: shellJoin(q.arms[0].Words), B: shellJoin(q.arms[1].Words), Intended: is})
	case len(own[0].Args)+len(own[1].Args) > 0:
		r.Differs = append(r.Differs, abDiff{What: "arguments", A: orDash(shellJoin(own[0].Args)), B: orDash(shellJoin(own[1].Args)), Intended: is})
	}
	r.observations(q)
	r.environments(q)
}

// observations compares what the servers said of themselves.
func (r *abResult) observations(q *ab) {
	if !speaks(r.A.all) || !speaks(r.B.all) {
		return // one of them did not get so far
	}
	steady := map[string]bool{}
	for _, p := range q.kind.Observe {
		steady[p.Name] = !p.Varies
	}
	all := map[string]bool{}
	for _, l := range slices.Concat(r.A.all, r.B.all) {
		for name := range l.Observed {
			all[name] = all[name] || steady[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !all[name] {
			continue
		}
		a, b := said(r.A.all, name), said(r.B.all, name)
		if a == b {
			r.Same++
			continue
		}
		d := abDiff{What: name + " (observed)", A: a, B: b, observed: true}
		switch {
		case slices.Contains(q.changes, name):
			d.Intended = "yes: --changes"
		case q.shows(r.A.all, name) || q.shows(r.B.all, name):
			d.Intended = "yes: --must-see"
		default:
			r.Advice = append(r.Advice, fmt.Sprintf("If %s is meant to differ, say so: --changes %s.", name, name))
		}
		r.Differs = append(r.Differs, d)
	}
}

// speaks reports whether a launch came so far as to be asked what it is.
func speaks(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return l.OK && len(l.Observed) > 0 })
}

func said(launches []*ledger.Launch, name string) string {
	having := slices.DeleteFunc(slices.Clone(launches), func(l *ledger.Launch) bool { _, has := l.Observed[name]; return !has })
	if len(having) == 0 {
		return "not said"
	}
	return report.SaidBy(having, name)
}

// shows reports whether the line from which something was observed is one of
// those that must be seen: then it is what the comparison is about.
func (q *ab) shows(launches []*ledger.Launch, name string) bool {
	for _, l := range launches {
		for _, g := range slices.Concat(q.mustSeeA, q.mustSeeB) {
			if line := l.Observed[name].Line; line != "" && globSees(g, line) {
				return true
			}
		}
	}
	return false
}

// environments compares fingerprints, trees and caches.
func (r *abResult) environments(q *ab) {
	if len(r.A.all) == 0 || len(r.B.all) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(union(fingerprint(r.A.all), fingerprint(r.B.all)))) {
		a, b := entries(r.A.all, name), entries(r.B.all, name)
		if a == b {
			r.Same++
			continue
		}
		if a == unknownEntry && !cameUp(r.A.all) || b == unknownEntry && !cameUp(r.B.all) {
			continue // it broke before it could be asked
		}
		d := abDiff{What: name, A: a, B: b}
		if slices.Contains(q.accept, name) || slices.Contains(q.accept, "all") || strings.HasPrefix(name, "repo.") && slices.Contains(q.accept, "repo.*") {
			d.Intended = "yes: --accept"
		} else if r.Verdict.Decided() {
			d.Intended = "follows from the commands"
		} else {
			r.Advice = append(r.Advice, fmt.Sprintf("If %s may differ, say so: --accept %s.", name, name))
		}
		r.Differs = append(r.Differs, d)
	}
	if a, b := cachesOf(r.A.all), cachesOf(r.B.all); a != b && r.A.all[0].Purpose == r.B.all[0].Purpose {
		r.Differs = append(r.Differs, abDiff{What: "compilers' caches", A: a, B: b})
	}
}

func fingerprint(launches []*ledger.Launch) map[string]string {
	all := map[string]string{}
	for _, l := range launches {
		maps.Copy(all, l.Fingerprint)
	}
	return all
}

var abDigest = regexp.MustCompile(`\b[0-9a-f]{40,64}\b`)

// unknownEntry stands for what nobody could find out.
const unknownEntry = "not known"

// cameUp reports whether a server came up at least once.
func cameUp(launches []*ledger.Launch) bool {
	return slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return l.OK })
}

// entries are the values of an entry over launches, digests cut.
func entries(launches []*ledger.Launch, name string) string {
	var seen []string
	for _, l := range launches {
		v, known := l.Fingerprint[name]
		if !known {
			v = unknownEntry
		}
		v = abDigest.ReplaceAllStringFunc(v, func(d string) string { return d[:12] })
		if !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	return strings.Join(seen, ", ")
}

func cachesOf(launches []*ledger.Launch) string {
	var seen []string
	for _, l := range launches {
		if state := l.Engine["caches"]; state != "" && !slices.Contains(seen, state) {
			seen = append(seen, state)
		}
	}
	return strings.Join(seen, ", ")
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}
