package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/ab"
	"github.com/mxflow/mxflow/steps/apply"
)

// abShow shows a comparison: the question before, the answer after the run.
type abShow struct {
	apply.Observer
	*app
	q  *ab.Question
	at ab.Place
	// format is "md", or empty.
	format string
}

func (s *abShow) begin() {
	fmt.Fprintf(s.stdout, "A  %s\nB  %s\n", oneLine(s.q.Arms[0].Text), oneLine(s.q.Arms[1].Text))
	fmt.Fprintf(s.stdout, "claim: B %s\n", s.q.Claim.Says(s.q.Label()))
	fmt.Fprintln(s.stdout)
}

func (s *abShow) Event(ev runtime.Event) {
	if !s.json {
		ev = ab.Reword(ev)
	}
	s.Observer.Event(ev)
}

// End shows how it came out, in the place of the table of an apply.
func (s *abShow) End(res *apply.Result) {
	s.Observer.End(res)
	r := s.q.Result(res.Store, res.Summary, res.End, s.at)
	r.Run = res.Run
	conclude(r, s.q, res.End)
	if s.json {
		s.printLine(r)
		return
	}
	if s.format == "md" {
		s.markdown(r)
		return
	}
	s.print(r, res.Took)
}

// recordWords are where everything is kept and how to go on from it.
func (s *abShow) recordWords() [][2]string {
	by := s.at.Plan
	if s.at.State != filepath.Join(s.at.Folder, stateName) {
		by += " --state " + s.at.State
	}
	rows := [][2]string{{"record", s.at.State}, {"every launch", "mxflow show latest " + by}, {"step by step", "mxflow explain feature.B " + by}, {"intact", "mxflow audit verify " + by}}
	if s.q.WritePlan != "" {
		rows = append(rows, [2]string{"the plan", fmt.Sprintf("%s; mxflow apply --state %s %s takes over these launches", s.q.WritePlan, s.at.State, s.q.WritePlan)})
	}
	return rows
}

// conclude says in one sentence how it came out, and what can be done.
func conclude(r *ab.Result, q *ab.Question, end *ledger.End) {
	var changes, accept []string
	for _, d := range r.Differs {
		switch {
		case d.Intended != "" || d.Name == "":
		case d.Observed:
			changes = append(changes, d.Name)
		default:
			accept = append(accept, d.Name)
		}
	}
	if names := slices.Concat(changes, accept); len(names) > 0 {
		line := q.CommandLine
		for _, f := range [][]string{append([]string{"--changes"}, changes...), append([]string{"--accept"}, accept...)} {
			if len(f) > 1 {
				line += " " + f[0] + " " + shell.Quote(strings.Join(f[1:], ","))
			}
		}
		r.Advice = append(r.Advice, fmt.Sprintf("If %s may differ, say so: %s", strings.Join(names, ", "), line))
	}
	n := min(len(r.A.Launches), len(r.B.Launches))
	label := q.Label()
	switch {
	case end.Reason.Code == code.Interrupted:
		r.Said = fmt.Sprintf("Interrupted: %s of A and %d of B are on record.", count(len(r.A.Launches), "launch"), len(r.B.Launches))
		r.Advice = []string{"Run the same command again to resume."}
		return
	case r.Verdict == verdict.Pass:
		r.Said = "B " + q.Claim.Says(label) + "."
	case r.Verdict == verdict.Fail && r.Stopped == verdict.StopScreen:
		r.Said = fmt.Sprintf("B %s: so far off that one launch of each shows it.", q.Claim.Not(label))
	case r.Verdict == verdict.Fail && n > 0 && len(r.LogTail) == 0 && r.LevelsPassed():
		r.Said = "B " + q.Claim.Not(label) + "." + worseWords(r, q.Claim)
	case r.Verdict == verdict.Fail && verdict.Holds(r.Reasons, code.CrashedAgain):
		r.Said = "B crashed again in a fresh launch, under what A bore."
	case r.Unfit != "":
		r.Said = r.Unfit + " did not pass what comes before measuring, so nothing was compared."
	case r.Verdict == verdict.Fail:
		r.Said = "Nothing was compared."
	case r.Verdict == verdict.Inconclusive && verdict.Holds(r.Reasons, code.MachineDisturbed):
		r.Said = "This machine disturbed what was measured, so nothing is decided. Run the same line again when nothing else runs: it goes on where this ended."
	case r.Verdict == verdict.Inconclusive && n > 0:
		r.Said = fmt.Sprintf("%s of each do not say whether B %s.", tell.Launches(n), q.Claim.Says(label))
		if n == 1 {
			r.Said = fmt.Sprintf("One launch of each does not say whether B %s.", q.Claim.Says(label))
		}
		openAdvice(r, q)
	case r.Verdict == verdict.Inconclusive:
		r.Said = "Nothing was measured, so nothing is decided."
	case r.Verdict == verdict.Invalid:
		r.Said = "The comparison does not count."
	case ab.Broke(r.B.All):
		r.Said = "The server of B broke, so nothing is decided."
	case ab.Broke(r.A.All):
		r.Said = "The server of A broke, so nothing is decided."
	default:
		r.Said = "A server or mxflow broke, so nothing is decided."
	}
	if r.Verdict == verdict.Pass && !q.Claim.Given {
		r.Said += whichWay(r, q.Claim)
		r.Advice = append(r.Advice, claimMore(r, q)...)
	}
	if !q.Proves() && !r.Told() && r.Verdict.Decided() {
		r.Advice = append(r.Advice, "Nothing proves that the change took effect. Name a line that B logs while it answers: --must-see-b '*…*'.")
	}
}

// worse says beside a fail that B is worse than A, where the bounds show it: "less
// than 10% faster" may be either.
func worseWords(r *ab.Result, c ab.Claim) string {
	if r.Low == nil || r.High == nil || !c.Given {
		return ""
	}
	switch {
	case c.Lower() && *r.Low > 0:
		return fmt.Sprintf(" It takes more, by %s at least.", percent(*r.Low))
	case !c.Lower() && *r.High < 0:
		return fmt.Sprintf(" It is slower, by %s at least.", percent(*r.High))
	}
	return ""
}

// whichWay says beside "not slower" whether it is faster at all, as far as the
// bounds show it.
func whichWay(r *ab.Result, c ab.Claim) string {
	if r.Low == nil || r.High == nil {
		return ""
	}
	low, high := gained(r, c)
	better, worse := "faster", "slower"
	switch {
	case low > 0:
		return fmt.Sprintf(" It is %s, by %s at least.", better, percent(low))
	case high < 0:
		return fmt.Sprintf(" It is %s, by %s at most.", worse, percent(low))
	}
	return fmt.Sprintf(" Whether it is %s stays open.", better)
}

// claimMore says how to claim that B is better, where it looks so: what is claimed of
// launches that were seen is tested by nothing.
func claimMore(r *ab.Result, q *ab.Question) []string {
	if r.Low == nil || r.High == nil {
		return nil
	}
	if low, _ := gained(r, q.Claim); low <= 0 {
		return nil
	}
	sign := "+"
	if q.Claim.Lower() {
		sign = "-"
	}
	return []string{fmt.Sprintf("To claim that B is better, state by how much and make fresh launches: %s --claim='%sN%%' --rerun", q.CommandLine, sign)}
}

// gained is how much better B is, at least and at most, by the bounds.
func gained(r *ab.Result, c ab.Claim) (low, high float64) {
	low, high = c.Change(*r.Low), c.Change(*r.High)
	return min(low, high), max(low, high)
}

// openAdvice says what would settle what stayed open.
func openAdvice(r *ab.Result, q *ab.Question) {
	if q.Quick {
		r.Advice = append(r.Advice, "The same command without --quick continues from these launches.")
		return
	}
	o, known := r.Open(q)
	switch {
	case !known:
		return
	case o.Settling > 0:
		r.Advice = append(r.Advice, fmt.Sprintf("%d launches of each would probably settle it: launches of one command vary by %s, and B is %s from the threshold. The same command with --launches %d continues from these.", o.Settling, percent(o.Spread), percent(o.Gap), o.Settling))
		return
	}
	if share, busy := r.Busy(); busy {
		r.Advice = append(r.Advice, fmt.Sprintf("The machine's processors were %.0f%% busy while it was measured. If that is more than the servers take, something else ran here.", 100*share))
	}
	r.Advice = append(r.Advice, fmt.Sprintf("Launches of one command vary by %s: %d launches per arm resolve %s, and B is %s from the threshold. Have them vary less (clocks, other load, warm-up) or allow more launches.", percent(o.Spread), o.Last, percent(o.Resolves), percent(o.Gap)))
}

// percent is a share without its sign: "19.3%", and more digits of a small one.
func percent(share float64) string {
	return strings.TrimPrefix(tell.Percent(math.Abs(share), 1), "+")
}

// print shows a comparison as one would paste it into a pull request: the answer
// first, what it rests on below.
func (s *abShow) print(r *ab.Result, took time.Duration) {
	word := strings.ToUpper(string(r.Verdict))
	if word == "" {
		word = "OPEN"
	}
	said := r.Said
	if width, rest := s.fits(), len(word+"  "); width > 0 { // folding leaves alone what is coloured
		said = strings.ReplaceAll(table.Wrap(said, min(table.MaxColumn, width-rest)), "\n", "\n"+strings.Repeat(" ", rest))
	}
	if colours(s.stdout) {
		word = lipgloss.NewRenderer(s.stdout).NewStyle().Bold(true).Foreground(lipgloss.Color(table.Colour(string(r.Verdict)))).Render(word)
	}
	fmt.Fprintf(s.stdout, "\n%s  %s\n", word, said)
	s.numbers(r)
	s.lines("why", tell.Lines(r.Reasons))
	if len(r.LogTail) > 0 {
		fmt.Fprintf(s.stdout, "\nits log ended with\n  | %s\n", strings.Join(r.LogTail, "\n  | "))
	}
	s.launchLines(r)
	s.section("compared", s.compared(r))
	s.also(r)
	s.differing(r)
	s.section("checked", s.checked(r))
	s.lines("notes", toKnow(r))
	s.lines("next", r.Advice)
	s.section("kept", s.recordWords())
	fmt.Fprintf(s.stdout, "\n%s, exit status %d\n", rough(took.Seconds()), r.Exit)
}

// numbers is the metric that decides, on both sides, with its bounds.
func (s *abShow) numbers(r *ab.Result) {
	if r.A.Value == nil || r.B.Value == nil || r.Change == nil {
		return
	}
	change := tell.Interval(*r.Change, r.Low, r.High, "ratio")
	if r.Verdict == verdict.Invalid || r.Verdict == verdict.Error {
		change = tell.Number(*r.Change, "ratio") + ", which does not count"
	}
	fmt.Fprintf(s.stdout, "%s: A %s, B %s, a change of %s\n", s.q.Label(), tell.Number(*r.A.Value, ""), tell.Number(*r.B.Value, r.Unit), change)
	if r.Low != nil && r.Verdict.Decided() {
		low, high := "pass", "fail"
		if s.q.Claim.Lower() {
			low, high = high, low
		}
		fmt.Fprintf(s.stdout, "Decision bounds: a threshold of %s or lower would %s here, %s or higher would %s. One that is chosen from them needs fresh launches.\n",
			tell.Percent(*r.Low, 1), low, tell.Percent(*r.High, 1), high)
	}
}

// launchLines are the launches of both in their order.
func (s *abShow) launchLines(r *ab.Result) {
	if len(r.A.Launches)+len(r.B.Launches) == 0 {
		return
	}
	fmt.Fprintf(s.stdout, "\nlaunches (%s, %s; each is the median of %s)\n", s.q.Label(), r.Unit, count(s.q.Requests, "request"))
	width := 0
	for _, l := range slices.Concat(r.A.Launches, r.B.Launches) {
		width = max(width, len(tell.Number(l.Value, "")))
	}
	type made struct {
		order int
		name  string
	}
	var order []made
	for _, side := range []struct {
		name     string
		launches []ab.Launch
	}{{"A", r.A.Launches}, {"B", r.B.Launches}} {
		line := "  " + side.name
		for _, l := range side.launches {
			line += fmt.Sprintf("  %*s", width, tell.Number(l.Value, ""))
			order = append(order, made{l.Number, side.name})
		}
		if sd, ok := ab.Spread(side.launches); ok {
			line += fmt.Sprintf("   they vary by %s", percent(sd))
		}
		if len(side.launches) == 0 {
			line += "  none counts"
		}
		fmt.Fprintln(s.stdout, line)
	}
	slices.SortFunc(order, func(x, y made) int { return x.order - y.order })
	text := "  in the order"
	for i, o := range order {
		if i%4 == 0 {
			text += " "
		}
		text += o.name
	}
	if n := r.A.Replaced + r.B.Replaced - r.A.Broke - r.B.Broke; n > 0 {
		text += fmt.Sprintf("; %s made again because the machine was disturbed", tell.Launches(n))
	}
	fmt.Fprintln(s.stdout, text)
}

// compared says what was measured, so that the result can be read where the
// command line was not seen: the commands, what they were sent, on what.
func (s *abShow) compared(r *ab.Result) [][2]string {
	return [][2]string{
		{"A", oneLine(s.q.Arms[0].Text)},
		{"B", oneLine(s.q.Arms[1].Text)},
		{"load", sentWords(s.q)},
		{"both", sharedWords(r, s.q)},
		{"machine", imported.Printable(machineWords(slices.Concat(r.A.All, r.B.All)))},
	}
}

// sent is what a launch was sent.
func sentWords(q *ab.Question) string {
	text := fmt.Sprintf("%s in", count(q.PP, "token"))
	if q.Depth > 0 {
		text += fmt.Sprintf(" after %d of context", q.Depth)
	}
	text += fmt.Sprintf(", %d out, %d at a time; %s a launch after %d to warm up", q.TG, max(q.Concurrency, 1), count(q.Requests, "request"), q.Warmup)
	if q.API != "completions" && q.API != "" {
		text += "; " + q.API
	}
	return text
}

// shared is what both servers said of themselves alike: their version first.
func sharedWords(r *ab.Result, q *ab.Question) string {
	var version string
	var same []string
	seen := map[string]bool{}
	for _, p := range q.Kind.Observe {
		if p.Consequence || seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		a := ab.Said(r.A.All, p.Name)
		if a == "not said" || a != ab.Said(r.B.All, p.Name) {
			continue
		}
		same = append(same, p.Name+" "+strings.Trim(a, `"`))
	}
	if v := ab.Said(r.A.All, "version"); v != "not said" && v == ab.Said(r.B.All, "version") {
		version = " " + strings.Trim(v, `"`)
	}
	if version == "" && len(same) == 0 {
		return ""
	}
	return imported.Printable(strings.Join(append([]string{q.Kind.Name + version}, same...), ", "))
}

// machineWords are what launches ran on, as far as all agree.
func machineWords(launches []*ledger.Launch) string {
	var parts []string
	for _, e := range []struct{ name, format string }{{"gpu", "%s"}, {"driver", "driver %s"}, {"cpu", "%s"}, {"cores", "%s cores"}, {"mem_gib", "%s GiB"}, {"os", "%s"}} {
		if v := ab.Entries(launches, e.name); v != "" && !strings.Contains(v, ab.UnknownEntry) {
			parts = append(parts, fmt.Sprintf(e.format, v))
		}
	}
	return strings.Join(parts, ", ")
}

// also are other metrics of the same launches.
func (s *abShow) also(r *ab.Result) {
	var rows [][]string
	against := "B against A"
	for _, m := range r.Metrics {
		if m.Low != nil {
			against = "B against A [95%]"
		}
		text := tell.Interval(m.Change, m.Low, m.High, "ratio")
		rows = append(rows, []string{"  " + m.Metric, tell.Number(m.A, m.Unit), tell.Number(m.B, m.Unit), strings.TrimSpace(text + " " + m.Better)})
	}
	if len(rows) > 0 {
		fmt.Fprintln(s.stdout)
		s.printTable([]string{"also measured, not decided", "A", "B", against}, rows)
	}
}

// differing is the table of what differs, and whether it is meant to.
func (s *abShow) differing(r *ab.Result) {
	var rows [][]string
	for _, d := range r.Differs {
		intended := d.Intended
		if intended == "" {
			intended = "not declared"
		}
		rows = append(rows, []string{"  " + d.What, imported.Printable(table.Fit(d.A, 40)), imported.Printable(table.Fit(d.B, 40)), intended})
	}
	fmt.Fprintln(s.stdout)
	s.printTable([]string{"what differs", "A", "B", "intended"}, rows)
	if r.Same > 0 {
		fmt.Fprintf(s.stdout, "  %s alike: what the servers say of themselves, and their environments\n", things(r.Same))
	}
}

func things(n int) string {
	if n == 1 {
		return "1 other thing is"
	}
	return fmt.Sprintf("%d other things are", n)
}

// checked are what had to hold before numbers counted.
func (s *abShow) checked(r *ab.Result) (rows [][2]string) {
	for _, l := range r.Levels {
		text := string(l.Verdict)
		if l.Name == "benchmark" && l.Verdict == verdict.Pass {
			text = "pass: the same prompts, coherent answers of equal length, one environment"
			if s.q.Coherence == "off" {
				text = "pass: the same prompts, answers of equal length, one environment; answers were not read"
			}
		} else if len(l.Reasons) > 0 && l.Verdict == verdict.Pass {
			text += ": " + table.Fit(imported.Printable(tell.Line(l.Reasons[len(l.Reasons)-1])), table.MaxColumn)
		}
		rows = append(rows, [2]string{l.Name, text})
	}
	if states := ab.Caches(slices.Concat(r.A.All, r.B.All)); states != "" {
		rows = append(rows, [2]string{"caches", states + ", each command has its own"})
	}
	if text := testWords(r.Test); text != "" {
		if r.Beyond > 0 {
			text += fmt.Sprintf("\n%s of each that an earlier claim asked for are listed, and bear on neither the change nor its bounds", tell.Launches(r.Beyond))
		}
		rows = append(rows, [2]string{"test", text})
	}
	if s := r.Rates; s != nil && r.Test != nil {
		text := fmt.Sprintf("a claim that does not hold passes in at most %s of cases, one that holds fails in at most %s", rate(s.FalsePass), rate(s.FalseFail))
		if len(r.Moved) > 0 {
			text += "; here that does not hold, see below"
		}
		rows = append(rows, [2]string{"errors", text})
	}
	return rows
}

// toKnow is what nobody should quote the result without: starts that broke, what
// was asked otherwise before, and what the launches themselves noted.
func toKnow(r *ab.Result) (list []string) {
	for _, side := range []struct {
		name string
		*ab.Side
	}{{"A", &r.A}, {"B", &r.B}} {
		if side.Broke > 0 { // one alone is what the whole result is about
			broke, starts := side.Broke, side.Replaced
			for _, l := range side.All {
				if l.Purpose == ledger.ForBenchmark {
					starts++
				}
				if l.Purpose == ledger.ForBenchmark && !l.OK {
					broke++
				}
			}
			list = append(list, fmt.Sprintf("The server of %s broke in %d of %d starts that were to be measured. Those give no number.", side.name, broke, starts))
		}
	}
	for _, moved := range r.Moved {
		list = append(list, tell.Sentence(moved))
	}
	for _, note := range r.Notes {
		if note.Code != code.LaunchesPerArm && note.Code != code.LaunchReplaced { // of which more is said elsewhere
			list = append(list, tell.Sentence(note))
		}
	}
	return list
}

func rate(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + "%" }

// leastChance is the chance below which its number says nothing more.
const leastChance = 0.001

// chanceLeft is how likely it was that more launches would have told.
func chanceLeft(chance float64) string {
	if chance < leastChance {
		return fmt.Sprintf("more launches would hardly have told (in less than %s of cases)", percent(leastChance))
	}
	return fmt.Sprintf("more launches had a %s chance of deciding", percent(chance))
}

// testWords are how the numbers were decided.
func testWords(t *verdict.Test) string {
	if t == nil || len(t.Looks) == 0 {
		return ""
	}
	how := "t-test on " + tell.Launches(t.Looks[len(t.Looks)-1].N)
	switch t.Form {
	case verdict.Ratio:
		how = "Welch's t-test on the logs of " + tell.Launches(t.Looks[len(t.Looks)-1].N)
	case verdict.Difference:
		how = "Welch's " + how
	}
	look := t.Looks[len(t.Looks)-1]
	text := fmt.Sprintf("%s of each: %s for a pass (%s is enough), %s for a fail (%s is enough)", how, tell.PIs(look.PPass), tell.PLevel(t.Pass), tell.PIs(look.PFail), tell.PLevel(t.Fail))
	switch {
	case t.Stop == verdict.StopScreen:
		text = "screened: one launch of each shows nothing but a difference that is far off, and this one is"
	case look.N == 1:
		text = "none: one launch of each shows nothing but a difference that is far off"
	}
	switch t.Stop {
	case verdict.StopFutile:
		text += "\n" + chanceLeft(look.Chance) + ", so it stopped"
	case verdict.StopPass:
		if len(t.Plan) == 0 || look.N < t.Plan[len(t.Plan)-1] {
			text += "\nit stopped early at a pass, so the estimate leans upwards: quote the bounds"
		}
	}
	if t.Floor > 0 {
		text += fmt.Sprintf("\nlaunches count as varying by %s at least, as those on record did before", percent(t.Floor))
	}
	if !t.Note.IsZero() {
		text += "\n" + tell.Line(t.Note)
	}
	return text
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
