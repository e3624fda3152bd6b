package main

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/replay"
)

func newShowCommand(a *app) *cobra.Command {
	again, all := false, false
	c := &cobra.Command{
		Use:   "show RUN [PLAN]",
		Short: "Show one run: its decisions, launches and what they measured",
		Long: "RUN is a run's ID, the beginning of one, or latest; or the ID of one launch, of which\n" +
			"every metric with all its statistics is shown, as --all does for each launch of a run.\n\n" +
			"--recompute derives every metric again from the raw data that was kept and compares\n" +
			"with what was stored: bit for bit, or within 1e-9 where it was recorded on another\n" +
			"architecture. Exit status: 0 everything agrees,\n" +
			"2 something differs, 3 raw data are missing or there is nothing to recompute.",
		Example: "  mxflow show latest examples/quickstart/plan.hcl\n" +
			"  mxflow show --json latest\n" +
			"  mxflow show --all latest\n" +
			"  mxflow show latest --recompute",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := a.reader(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			if again {
				return showRecomputed(a, st, args[0])
			}
			if l, ok := st.LaunchByID(args[0]); ok {
				showLaunch(a, l)
				return nil
			}
			v, err := st.Run(args[0])
			if err != nil {
				return err
			}
			if a.json {
				a.printJSON(v)
				return nil
			}
			fmt.Fprintf(a.stdout, "run %s of plan %s (%s), started %s\n", v.ID, v.Plan, v.PlanFile, v.Started.Local().Format("2006-01-02 15:04:05"))
			if v.Done {
				fmt.Fprintf(a.stdout, "%s, exit status %d\n", tell.Line(v.Reason), v.Exit)
			}
			if s := v.Start; s != nil {
				fmt.Fprintf(a.stdout, "%s, plan digest %.12s, on %s\n", s.Tool, s.PlanDigest, pairs(s.Environment))
			}
			fmt.Fprintln(a.stdout)
			var rows [][]string
			var overruled []report.Overruled
			for _, d := range v.Decisions {
				var w *ledger.Waiver
				for _, given := range v.Waivers {
					if given.About(d.Decision) {
						w = given
					}
				}
				o := report.OverruledOf(d.Decision, w, time.Now())
				overruled = append(overruled, o)
				rows = append(rows, []string{d.Node, o.Word(), fmt.Sprint(d.Attempt), tell.Line(d.Because), strings.Join(tell.Lines(why(d.Decision)), "\n")})
			}
			a.printTable([]string{"node", "verdict", "attempt", "because", "why"}, rows)
			printOverruled(a, overruled)
			for _, d := range v.Decisions {
				a.comparison(d.Decision)
			}
			printLaunches(a, v.Launches, all)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.Flags().BoolVar(&all, "all", false, "every metric of every launch, with all its statistics")
	c.Flags().BoolVar(&again, "recompute", false, "derive the metrics again from raw data and compare")
	return c
}

func pairs(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+" "+m[k])
	}
	return strings.Join(out, ", ")
}

// showLaunch prints one launch with all that it measured.
func showLaunch(a *app, l *ledger.Launch) {
	if a.json {
		a.printJSON(l)
		return
	}
	printLaunch(a, l)
	printObserved(a, []*ledger.Launch{l})
}

// printLaunch prints every metric of a launch with all its statistics.
func printLaunch(a *app, l *ledger.Launch) {
	fmt.Fprintf(a.stdout, "\nlaunch %s of %s (%s), started %s, %.1f s, ok: %s\n", l.ID, l.Variant, l.Purpose, l.Started.Local().Format("2006-01-02 15:04:05"), l.Seconds, launchOK(l))
	for _, w := range launchWords(l) {
		fmt.Fprintf(a.stdout, "  %s\n", w)
	}
	if c := l.Client; c != nil {
		fmt.Fprintf(a.stdout, "  the client measured itself with %s: at the 99th percentile %.2g ms off in times to the first token, %.2g ms between tokens\n", count(c.Streams, "stream"), c.TTFTp99, c.ITLp99)
	}
	for _, k := range []struct{ what, digest string }{{"samples", l.Samples}, {"series", l.Series}, {"log", l.Log}} {
		if k.digest != "" {
			fmt.Fprintf(a.stdout, "  %s: artifact %s\n", k.what, k.digest)
		}
	}
	var rows [][]string
	few := false
	for _, address := range slices.Sorted(maps.Keys(l.Metrics)) {
		s := l.Metrics[address]
		row := []string{address, s.Unit, fmt.Sprint(s.N)}
		for _, stat := range statColumns {
			text, lacks := statistic(s, stat)
			few = few || lacks
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(a.stdout)
	a.printTable(append([]string{"metric", "unit", "n"}, statColumns...), rows)
	if few {
		fmt.Fprintln(a.stdout, "\nn 8/299: a percentile that 8 values do not show; it takes 299.")
	}
}

var statColumns = []string{"median", "mean", "std", "min", "p90", "p95", "p99", "max"}

// statistic is a number of a summary, or how many of the values that it takes
// there are: a p99 of eight values is no maximum. What a launch has once has no
// spread.
func statistic(s measure.Summary, stat string) (text string, few bool) {
	if v, there := s.Stats[stat]; there {
		return tell.Number(v, ""), false
	}
	if least := measure.LeastValues(stat); s.N > 1 && s.N < least {
		return fmt.Sprintf("n %d/%d", s.N, least), true
	}
	return "–", false
}

// printLaunches prints what the launches of a run came to, and a table of the
// headline metrics for each workload; with all, every metric of each.
func printLaunches(a *app, launches []*ledger.Launch, all bool) {
	if len(launches) == 0 {
		return
	}
	var rows [][]string
	for _, l := range launches {
		rows = append(rows, []string{l.ID, l.Variant, launchOK(l), fmt.Sprintf("%.1f", l.Seconds), strings.Join(launchWords(l), "\n")})
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"launch", "variant", "ok", "seconds", "to know"}, rows)
	few := false
	for _, g := range report.Groups(launches) {
		few = printGroup(a, g, launches) || few
	}
	if few {
		fmt.Fprintln(a.stdout, "\nn 8/299: a percentile that 8 values do not show; it takes 299.")
	}
	if all {
		for _, l := range launches {
			printLaunch(a, l)
		}
	}
	printObserved(a, launches)
	if !all {
		fmt.Fprintln(a.stdout, "\nEvery metric with all its statistics: mxflow show LAUNCH, or --all.")
	}
}

// launchOK is how a launch ended: one that is invalid was complete, and what it
// measured does not count.
func launchOK(l *ledger.Launch) string {
	switch {
	case !l.OK:
		return "no"
	case len(l.Invalid) > 0:
		return "invalid"
	}
	return "yes"
}

// launchWords are what is to be known of a launch beside its numbers.
func launchWords(l *ledger.Launch) (words []string) {
	if !l.Error.IsZero() {
		words = append(words, tell.Line(l.Error))
	}
	words = append(words, tell.Lines(l.Invalid)...)
	if state := l.Engine["caches"]; state != "" {
		words = append(words, state+" caches")
	}
	return append(words, tell.Lines(l.Notes)...)
}

// printGroup prints a row for each cell of a workload and launch. It reports whether
// there were too few values for a column.
func printGroup(a *app, g report.Group, launches []*ledger.Launch) (few bool) {
	workload := !slices.Contains([]string{"command", "engine", "gpu"}, g.Name)
	heads := []string{"launch", "variant"}
	if workload {
		heads = []string{g.Name, "sent", "launch"} // whose ID names the variant
	}
	for _, c := range g.Columns {
		heads = append(heads, c.Head)
	}
	var rows [][]string
	for _, cell := range g.Cells {
		name, sent := cell, report.Sent(launches, cell)
		for _, l := range launches {
			numbers, any := make([]string, len(g.Columns)), false
			for i, c := range g.Columns {
				text, lacks := number(l, c, cell)
				numbers[i], few, any = text, few || lacks, any || text != "–"
			}
			if !any {
				continue
			}
			row := []string{l.ID, l.Variant}
			if workload {
				row = []string{name, sent, l.ID}
				name, sent = "", "" // said once
			}
			rows = append(rows, append(row, numbers...))
		}
	}
	if len(rows) > 0 && len(g.Columns) > 0 {
		fmt.Fprintln(a.stdout)
		a.printTable(heads, rows)
	}
	return few
}

// number is one column of a launch.
func number(l *ledger.Launch, c report.Column, cell string) (text string, few bool) {
	s, ok := c.Of(l, cell)
	if !ok {
		return "–", false
	}
	return statistic(s, c.Stat)
}

// printObserved prints what the engines said of themselves, one row a variant. Where
// its launches differ, each value is shown.
func printObserved(a *app, launches []*ledger.Launch) {
	var variants []string
	byVariant := map[string][]*ledger.Launch{}
	for _, l := range launches {
		if len(l.Observed) == 0 {
			continue
		}
		if byVariant[l.Variant] == nil {
			variants = append(variants, l.Variant)
		}
		byVariant[l.Variant] = append(byVariant[l.Variant], l)
	}
	var rows [][]string
	for _, v := range variants {
		names := map[string]bool{}
		for _, l := range byVariant[v] {
			for name := range l.Observed {
				names[name] = true
			}
		}
		var said []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			having := slices.DeleteFunc(slices.Clone(byVariant[v]), func(l *ledger.Launch) bool { _, has := l.Observed[name]; return !has })
			said = append(said, name+" "+report.SaidBy(having, name))
		}
		rows = append(rows, []string{v, fmt.Sprint(len(byVariant[v])), strings.Join(said, ", ")})
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.stdout)
		a.printTable([]string{"variant", "launches", "observed"}, rows)
	}
}

// What a recomputation came to; see replay.Recompute.
const (
	agrees  = replay.RawAgrees
	within  = replay.RawWithin
	differs = replay.RawDiffers
	noRaw   = replay.RawMissing
	// elsewhereTolerance is that of another architecture.
	elsewhereTolerance = replay.ElsewhereTolerance
)

type (
	outcome    = replay.RawOutcome
	recomputed = replay.Recomputed
)

func recompute(st *store.Store, l *ledger.Launch) recomputed { return replay.Recompute(st, l) }

// recomputation is what `show --recompute` found.
type recomputation struct {
	Run string `json:"run,omitempty"`
	// On is the architecture that it was recomputed on.
	On       string       `json:"recomputed_on"`
	Launches []recomputed `json:"launches"`
	// Doubtful are decisions that rest on launches which do not agree.
	Doubtful []string `json:"doubtful_decisions,omitempty"`
	Agrees   bool     `json:"agrees"`
}

// showRecomputed evaluates the launches of a run, those that its decisions rest
// on included, or one launch by its ID, and compares with what was stored.
func showRecomputed(a *app, st *store.Store, id string) error {
	var out recomputation
	var launches []*ledger.Launch
	var decisions []store.Decided
	if l, ok := st.LaunchByID(id); ok {
		launches = []*ledger.Launch{l}
	} else {
		v, err := st.Run(id)
		if err != nil {
			return fmt.Errorf("%w; and no launch is called %q", err, id)
		}
		out.Run, launches, decisions = v.ID, launchesOf(st, v), v.Decisions
	}
	out.On = goruntime.GOARCH
	bad, found := map[string]bool{}, map[outcome]int{}
	for _, l := range launches {
		out.Launches = append(out.Launches, recompute(st, l))
	}
	out.Launches = append(out.Launches, unrecorded(st, decisions)...)
	for _, r := range out.Launches {
		found[r.Outcome]++
		bad[r.Launch] = r.Outcome == differs || r.Outcome == noRaw
	}
	for _, d := range decisions {
		if slices.ContainsFunc(d.Launches, func(id string) bool { return bad[id] }) {
			out.Doubtful = append(out.Doubtful, d.Node)
		}
	}
	out.Agrees = found[differs] == 0 && found[noRaw] == 0 && found[agrees]+found[within] > 0
	if a.json {
		a.printJSON(out)
	} else {
		printRecomputed(a, out, decisions, found)
	}
	switch {
	case found[differs] > 0:
		return a.fail(verdict.ExitFail, fmt.Errorf("%s not what %s raw data say", isAre(found[differs], "launch", "launches"), itsTheir(found[differs])))
	case found[noRaw] > 0:
		return a.fail(verdict.ExitInconclusive, fmt.Errorf("%s without raw data cannot be recomputed", count(found[noRaw], "launch")))
	case !out.Agrees:
		return a.fail(verdict.ExitInconclusive, fmt.Errorf("there is nothing to recompute: no launch has metrics that come from samples"))
	}
	return nil
}

// launchesOf are the launches of a run, and those of earlier runs that its
// decisions rest on.
func launchesOf(st *store.Store, v *store.RunView) []*ledger.Launch {
	out := slices.Clone(v.Launches)
	seen := map[string]bool{}
	for _, l := range out {
		seen[l.ID] = true
	}
	for _, d := range v.Decisions {
		for _, id := range d.Launches {
			if l, ok := st.LaunchByID(id); ok && !seen[id] {
				seen[id] = true
				out = append(out, l)
			}
		}
	}
	return out
}

// unrecorded are launches that decisions name and the ledger does not have.
func unrecorded(st *store.Store, decisions []store.Decided) (out []recomputed) {
	seen := map[string]bool{}
	for _, d := range decisions {
		for _, id := range d.Launches {
			if _, ok := st.LaunchByID(id); !ok && !seen[id] {
				seen[id] = true
				out = append(out, recomputed{Launch: id, Outcome: noRaw, Why: verdict.New(code.NoSuchLaunch)})
			}
		}
	}
	return out
}

func printRecomputed(a *app, out recomputation, decisions []store.Decided, found map[outcome]int) {
	var rows, differences [][]string
	type ofLaunches struct {
		why      verdict.Reason
		launches []string
	}
	var why []ofLaunches
	numbers, metrics, elsewhere := 0, 0, map[string]bool{}
	for _, r := range out.Launches {
		rows = append(rows, []string{r.Launch, r.Variant, string(r.Outcome), fmt.Sprint(r.Metrics), fmt.Sprint(r.Numbers), fmt.Sprint(len(r.New))})
		for _, d := range r.Differ {
			differences = append(differences, []string{r.Launch, d.Address, d.What, d.Stored, d.Again})
		}
		if !r.Why.IsZero() {
			at := slices.IndexFunc(why, func(o ofLaunches) bool { return o.why.Equal(r.Why) })
			if at < 0 {
				at, why = len(why), append(why, ofLaunches{why: r.Why})
			}
			why[at].launches = append(why[at].launches, r.Launch)
		}
		for _, address := range r.Elsewhere {
			elsewhere[address] = true
		}
		numbers, metrics = numbers+r.Numbers, metrics+r.Metrics
	}
	if out.Run != "" {
		fmt.Fprintf(a.stdout, "run %s, recomputed from raw data\n\n", out.Run)
	}
	a.printTable([]string{"launch", "variant", "outcome", "metrics", "numbers", "new"}, rows)
	if len(differences) > 0 {
		fmt.Fprintln(a.stdout)
		a.printTable([]string{"launch", "metric", "what", "stored", "again"}, differences)
	}
	fmt.Fprintln(a.stdout)
	for _, of := range why {
		fmt.Fprintf(a.stdout, "%s: %s.\n", strings.Join(of.launches, ", "), tell.Line(of.why))
	}
	if len(elsewhere) > 0 {
		fmt.Fprintf(a.stdout, "Not from samples, and not compared: %s.\n", strings.Join(slices.Sorted(maps.Keys(elsewhere)), ", "))
	}
	if found[within] > 0 {
		fmt.Fprintf(a.stdout, "Where it says so, launches were recorded on another architecture than this one (%s), so statistics had to agree within %g only.\n", out.On, elsewhereTolerance)
	}
	if !out.Agrees {
		if len(out.Doubtful) > 0 {
			fmt.Fprintf(a.stdout, "Decisions that rest on launches which do not agree: %s.\n", strings.Join(out.Doubtful, ", "))
		}
		return
	}
	how := "bit for bit"
	if found[within] > 0 {
		how = "as said"
	}
	fmt.Fprintf(a.stdout, "Everything agrees %s: %s of %s in %s.\n", how, count(numbers, "number"), count(metrics, "metric"), count(found[agrees]+found[within], "launch"))
	if len(decisions) > 0 {
		fmt.Fprintf(a.stdout, "So what the rules of this run read agrees too: %s.\n", count(len(decisions), "decision"))
	}
}

func isAre(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, plural(n, one+" is", many+" are"))
}

func itsTheir(n int) string {
	return plural(n, "its", "their")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
