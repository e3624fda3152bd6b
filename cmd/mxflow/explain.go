package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func (a *app) explainCommand() *cobra.Command {
	attempt := 0
	c := &cobra.Command{
		Use:   "explain GATE|FEATURE|NODE [PLAN]",
		Short: "Argue one decision: the data, the test, and what would have changed it",
		Long: `Prints a recorded decision as an engineer would argue it: for each comparison of
each rule what is claimed, every launch in the order of the starts, every look with
its statistic and levels, the interval, what would have changed the verdict, and how
many more launches would probably settle what is open. It reads the state directory
beside PLAN, or in the current folder, and starts nothing.

A gate may be named by its phase, a feature by its name: cutlass, phase.cutlass and
phase.cutlass.gate are one, and 'spec[short]' is an alternative of feature spec, argued
alone. The newest decision is explained; --attempt takes an earlier one. Exit status:
0 explained, 1 there is no such node or decision.`,
		Example: "  mxflow explain cutlass plan.hcl\n" +
			"  mxflow explain feature.cutlass_grouped_gemm --attempt 1\n" +
			"  mxflow explain phase.cutlass.gate --json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("attempt") && attempt < 1 {
				return fmt.Errorf("--attempt %d: attempts count from 1", attempt)
			}
			st, err := a.reader(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			node, alternative, err := findArgued(st, args[0])
			if err != nil {
				return err
			}
			e, err := explain(st, node, attempt)
			if err != nil {
				return err
			}
			e.only(alternative)
			if a.json {
				a.printJSON(e)
				return nil
			}
			a.printExplanation(e)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.Flags().IntVar(&attempt, "attempt", 0, "explain this attempt instead of the newest")
	return c
}

// findNode is the address of the node that a person means: the address itself, a
// phase for its gate, or the name of a phase or a feature. Only what was decided
// or locked here can be meant.
func findNode(st *store.Store, name string) (string, error) {
	nodes := recordedNodes(st)
	if slices.Contains(nodes, name) {
		return name, nil
	}
	var found []string
	short := strings.TrimSuffix(name, ".gate")
	for _, address := range []string{short, runtime.PhaseID(short), runtime.FeatureID(short)} {
		if slices.Contains(nodes, address) && !slices.Contains(found, address) {
			found = append(found, address)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if ext := filepath.Ext(name); ext == ".hcl" || lang.IsYAML(name) {
			return "", fmt.Errorf("%s is a plan, and a node stands before it: its name, then the plan%s", name, nearNode(name, nodes))
		}
		if len(nodes) == 0 {
			return "", fmt.Errorf("nothing was decided here, so there is nothing to explain: run mxflow apply first")
		}
		return "", fmt.Errorf("no node called %q was decided or locked here%s", name, nearNode(name, nodes))
	}
	return "", fmt.Errorf("%q is both %s: name one of them", name, strings.Join(found, " and "))
}

// findArgued is the node to explain. An alternative, "spec[short]", was decided with
// the others: it leads to the feature that chooses, of which it is the one to argue.
func findArgued(st *store.Store, name string) (node, alternative string, err error) {
	short := strings.TrimPrefix(name, "feature.")
	for _, d := range st.Decisions() {
		for _, alt := range d.Alternatives {
			if alt.Name == short && d.Node == runtime.FeatureID(d.Feature) {
				return d.Node, alt.Name, nil
			}
		}
	}
	node, err = findNode(st, name)
	return node, "", err
}

// recordedNodes are the addresses of all nodes that were decided, or locked by
// the newest run, sorted.
func recordedNodes(st *store.Store) (nodes []string) {
	for _, d := range st.Decisions() {
		nodes = append(nodes, d.Node)
	}
	for _, l := range report.Locked(st) {
		nodes = append(nodes, l.Node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// nearNode is what stands behind a name that is not known, which may be meant for
// the whole of an address or for its short form.
func nearNode(name string, nodes []string) string {
	byName := map[string]string{}
	for _, n := range nodes {
		byName[n], byName[shortNode(n)] = n, n
	}
	if n, ok := byName[lang.Nearest(name, slices.Sorted(maps.Keys(byName)))]; ok {
		name = n
	}
	return "." + lang.Suggest(name, nodes)
}

// shortNode is what people call a node: the phase of a gate, the feature's name.
func shortNode(node string) string {
	if short, ok := strings.CutPrefix(node, "phase."); ok {
		return short
	}
	return strings.TrimPrefix(node, "feature.")
}

// explanation is a decision with everything that argues it.
type explanation struct {
	Node string `json:"node"`
	// Alternative is the one that was asked for, of a feature that chooses.
	Alternative string `json:"alternative,omitempty"`
	// Decision is nil where the node was never decided.
	Decision *store.Decided `json:"decision,omitempty"`
	// Locked is why the newest run could not decide it; what was decided before
	// stands no longer then.
	Locked verdict.Reason `json:"locked,omitzero"`
	// Attempts are all decisions about the node, oldest first.
	Attempts []attempt `json:"attempts,omitempty"`
	// Starts are the sessions in which the candidate was measured at this
	// revision up to the decision: each of them is another chance of an error.
	Starts []string `json:"sessions,omitempty"`
	// Engines are the plan's engines that the launches were started on.
	Engines []string `json:"engines,omitempty"`
	// Sessions are the orders in which launches were started.
	Sessions []sessionOrder `json:"orders,omitempty"`
	Rules    []ruleArgument `json:"rules,omitempty"`
	// Causes lead from what was decided to the root, where it was not decided by
	// its own evidence.
	Causes []verdict.Reason `json:"causes,omitempty"`
	Marks  []verdict.Reason `json:"marks,omitempty"`
	Notes  []verdict.Reason `json:"notes,omitempty"`
}

// attempt is one decision about a node in a line.
type attempt struct {
	Attempt int            `json:"attempt"`
	Verdict string         `json:"verdict"`
	Because verdict.Reason `json:"because,omitzero"`
	Session string         `json:"session,omitempty"`
	Run     string         `json:"run"`
	Time    time.Time      `json:"time"`
	// Explained is set for the one that is explained.
	Explained bool `json:"explained,omitempty"`
}

// explain gathers what there is to say about a node; attempt 0 is the newest.
func explain(st *store.Store, node string, number int) (*explanation, error) {
	e := &explanation{Node: node}
	history := st.History(node)
	if number == 0 {
		for _, l := range report.Locked(st) {
			if l.Node == node {
				e.Locked = l.Cause
			}
		}
	}
	at := len(history) - 1
	if number > 0 {
		at = slices.IndexFunc(history, func(d store.Decided) bool { return d.Attempt == number })
		if at < 0 {
			return nil, fmt.Errorf("%s has no attempt %d: %s", node, number, attemptsThere(history))
		}
	}
	for i, d := range history {
		e.Attempts = append(e.Attempts, attempt{d.Attempt, string(d.Verdict), d.Because, d.Session, d.Run, d.Time, i == at && e.Locked.IsZero()})
	}
	if !e.Locked.IsZero() {
		e.Causes = lockCauses(st, e.Locked)
		return e, nil
	}
	if at < 0 {
		return nil, fmt.Errorf("%s was not decided yet", node)
	}
	d := history[at]
	e.Decision = &d
	e.Starts = report.StartsOf(st, d)
	if d.Retraction == nil {
		// A decision that was withdrawn reads no launch.
		e.Sessions, e.Notes = ordersOf(st, d)
	}
	e.Engines = enginesOf(st, d.Decision)
	// The rules of a feature that chooses are those of one alternative, which are
	// argued with the others.
	ofAlternative := slices.ContainsFunc(d.Alternatives, func(alt ledger.Alternative) bool { return reflect.DeepEqual(alt.Rules, d.Rules) })
	if !ofAlternative {
		e.Rules = arguesRules(st, d.Rules)
	}
	for _, alt := range d.Alternatives {
		for _, argued := range arguesRules(st, alt.Rules) {
			argued.Of = alt.Name
			e.Rules = append(e.Rules, argued)
		}
	}
	if !report.TestsDecided(d.Decision) {
		e.Causes = causesOf(st, d)
	}
	e.Marks = marksOf(st, d, time.Now())
	e.Notes = append(e.Notes, report.Moved(st.History(d.Node), d)...)
	e.Notes = append(e.Notes, statedLater(history, at)...)
	return e, nil
}

func attemptsThere(history []store.Decided) string {
	if len(history) == 0 {
		return "it was never decided"
	}
	var list []string
	for _, d := range history {
		list = append(list, fmt.Sprint(d.Attempt))
	}
	return "there is " + strings.Join(list, ", ")
}

// statedLater says that the attempt explained is not the newest.
func statedLater(history []store.Decided, at int) []verdict.Reason {
	if at == len(history)-1 {
		return nil
	}
	last := history[len(history)-1]
	return []verdict.Reason{verdict.New(code.Superseded, verdict.Int("attempt", last.Attempt)).Is(last.Verdict).From(last.Because)}
}

// enginesOf are the engines of the launches that a decision rests on, "kind.name".
func enginesOf(st *store.Store, d *ledger.Decision) (engines []string) {
	for _, id := range evidenceLaunches(d) {
		if l, ok := st.LaunchByID(id); ok && l.Block != "" && !slices.Contains(engines, l.Block) {
			engines = append(engines, l.Block)
		}
	}
	return engines
}

// evidenceLaunches are the launches that the rules of a decision read, each once.
func evidenceLaunches(d *ledger.Decision) (ids []string) {
	seen := map[string]bool{}
	add := func(list []string) {
		for _, id := range list {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	for _, ev := range d.Evidence {
		add(ev.Parent.Launches)
		add(ev.Candidate.Launches)
		add(ev.Root.Launches)
	}
	if len(ids) == 0 {
		add(d.Launches)
	}
	return ids
}

func (a *app) printExplanation(e *explanation) {
	if !e.Locked.IsZero() {
		fmt.Fprintf(a.stdout, "%s: locked\n\n", e.Node)
		a.paragraphs("", tell.Lines(e.Causes))
		if len(e.Attempts) > 0 {
			fmt.Fprintln(a.stdout, "\nWhat was decided about it before stands no longer (--attempt N explains it):")
			a.printAttempts(e.Attempts)
		}
		return
	}
	d := e.Decision
	accepted := ""
	if d.Accepted {
		accepted = ", accepted into the stack"
	}
	fmt.Fprintf(a.stdout, "%s: %s%s\n\n", e.Node, d.Verdict, accepted)
	for _, alt := range d.Alternatives {
		if alt.Name == e.Alternative {
			fmt.Fprintf(a.stdout, "  argued    %s alone: %s (mxflow explain %s argues all)\n", alt.Name, alt.Verdict, e.Node)
		}
	}
	fmt.Fprintf(a.stdout, "  decided   %s, run %s, attempt %d (%s)\n", d.Time.Local().Format("2006-01-02 15:04:05"), d.Run, d.Attempt, tell.Line(d.Because))
	if s := d.Statistics; s != nil {
		share := ""
		if s.Alternatives > 1 {
			share = fmt.Sprintf(", shared by %d alternatives", s.Alternatives)
		}
		fmt.Fprintf(a.stdout, "  errors    a false pass in at most %.3g%%%s, a false fail in at most %.3g%%; %s per arm\n",
			100*s.FalsePass, share, 100*s.FalseFail, launchRange(d.Decision))
	}
	if len(e.Starts) > 0 {
		fmt.Fprintf(a.stdout, "  measured  %s\n", startsWord(e.Starts))
	}
	if len(e.Engines) > 0 {
		fmt.Fprintf(a.stdout, "  engine    %s\n", verdict.And(e.Engines))
	}
	for _, c := range d.Confirmations {
		fmt.Fprintf(a.stdout, "  confirm   %s\n", confirmationSaid(c))
	}
	for _, m := range e.Marks {
		a.paragraph("  ", tell.Sentence(m))
	}
	told := &told{}
	for _, s := range e.Sessions {
		a.printOrder(s, told)
	}
	for _, l := range d.Levels {
		if l.Verdict != "pass" || len(e.Rules) == 0 {
			a.paragraphs("  ", told.Once(verdict.New(code.LevelCame).On(l.Name).Is(l.Verdict).From(tell.Few(l.Reasons, 3)...)))
		}
	}
	if len(e.Rules) == 0 || len(e.Causes) > 0 {
		a.printReasons(e, told)
	}
	for i, r := range e.Rules {
		a.printRule(i+1, r, told)
	}
	a.printBeside(e, told)
}

// launchRange is how many launches an arm the tests may take: what the benchmark
// makes at most, where the decision records it.
func launchRange(d *ledger.Decision) string {
	least, most := d.Statistics.Min, 0
	for _, ev := range d.Evidence {
		most = max(most, ev.Max)
	}
	if most == 0 {
		most = d.Statistics.Max
	}
	if least = min(least, most); least == most {
		return count(most, "launch")
	}
	return fmt.Sprintf("%d to %d launches", least, most)
}

// startsWord says in how many sessions the candidate was measured: starting afresh
// multiplies the chance of an error.
func startsWord(sessions []string) string {
	if len(sessions) == 1 {
		return "once at this revision, in session " + sessions[0]
	}
	return fmt.Sprintf("%d times from the start at this revision, in sessions %s: the chance of an error is up to %d times that of one", len(sessions), verdict.And(sessions), len(sessions))
}

// confirmationSaid is what another engine says of a feature, and where that is argued.
func confirmationSaid(c ledger.Confirmation) string {
	if c.Verdict == "" {
		return tell.Line(c.Reason)
	}
	return fmt.Sprintf("on %s: %s (mxflow explain '%s' argues it)", c.Engine, c.Verdict, shortNode(c.Node))
}

func (a *app) printReasons(e *explanation, told *told) {
	d := e.Decision
	if len(e.Causes) > 0 {
		fmt.Fprintln(a.stdout, "\nIt came to this, last cause first:")
		a.paragraphs("  ", told.Chain(e.Causes))
	} else if reasons := told.Once(unmarked(d.Decision)...); len(reasons) > 0 {
		fmt.Fprintln(a.stdout)
		a.paragraphs("  ", reasons)
	}
	if d.Exit != nil && *d.Exit >= 0 {
		fmt.Fprintf(a.stdout, "  exit status %d\n", *d.Exit)
	}
	if len(d.LogTail) > 0 {
		fmt.Fprintf(a.stdout, "  the log ended with:\n  | %s\n", strings.Join(d.LogTail, "\n  | "))
	}
}

func (a *app) printOrder(s sessionOrder, told *told) {
	fmt.Fprintf(a.stdout, "  order     %s  (%s), session %s\n", s.Order, strings.Join(s.Arms, ", "), s.Session)
	var unread []int
	for _, l := range s.Launches {
		switch {
		case l.Aside.IsZero():
		case l.Aside.Code == code.NotRead:
			unread = append(unread, l.Number)
		default:
			aside := verdict.New(code.LaunchAside, verdict.Int("number", l.Number)).On(l.Launch).From(l.Aside)
			a.paragraphs("            ", told.Once(aside.Map(firstLine)))
		}
	}
	if slices.Sort(unread); len(unread) > 0 {
		fmt.Fprintf(a.stdout, "            %s by this decision: %s %s\n", tell.Line(verdict.New(code.NotRead)), plural(len(unread), "launch", "launches"), spans(unread))
	}
}

func (a *app) printRule(number int, r ruleArgument, told *told) {
	of, recorded := "", ""
	if r.Of != "" {
		of = " of " + r.Of
	}
	if !r.Decides {
		recorded = " (recorded, does not decide)"
	}
	fmt.Fprintf(a.stdout, "\n%d. %s %q%s: %s%s\n   %s   %s\n", number, r.Role, r.Name, of, r.Verdict, recorded, r.Expr, r.Source)
	for _, c := range r.Compared {
		a.printArgument(argued{number, r.Name, c.Not + c.Text}, r, c, told)
	}
	if len(r.Compared) == 0 {
		fmt.Fprintln(a.stdout)
	}
	a.paragraphs("   ", told.Once(r.Missing...))
	a.paragraphs("   ", told.Once(r.Reasons...))
	for _, in := range r.Read {
		fmt.Fprintf(a.stdout, "   %s\n", strings.ReplaceAll(in, "\n", "\n   "))
	}
	if len(r.Open) > 0 && r.Ended == "" {
		a.paragraph("   ", "More launches of "+verdict.And(r.Open)+" could still settle it.")
	}
}

// printBeside prints what stands beside the rules: alternatives, the hypothesis,
// how the stack compares with its parts, earlier attempts, and notes.
func (a *app) printBeside(e *explanation, told *told) {
	d := e.Decision
	for i, alt := range d.Alternatives {
		if i == 0 {
			fmt.Fprintln(a.stdout, "\nAlternatives, of which at most one enters the stack:")
		}
		chosen := ""
		if alt.Chosen {
			chosen = ", chosen"
		}
		reasons := slices.DeleteFunc(slices.Clone(alt.Reasons), func(r verdict.Reason) bool {
			return slices.ContainsFunc(d.Interference, func(i ledger.Interference) bool { return i.Reason().Equal(r) })
		})
		a.paragraph("  ", fmt.Sprintf("%s: %s%s%s", alt.Name, alt.Verdict, chosen, because(reasons, 3)))
	}
	if h := d.Hypothesis; h != nil {
		fmt.Fprintln(a.stdout, "\nHypothesis, which decides nothing:")
		a.paragraphs("  ", hypothesisSaid(h))
	}
	for i, f := range d.Interference {
		if i == 0 {
			fmt.Fprintln(a.stdout, "\nThe stack against the product of its parts:")
		}
		a.paragraph("  ", interferenceSaid(f))
	}
	if len(e.Attempts) > 1 {
		fmt.Fprintln(a.stdout, "\nAttempts:")
		a.printAttempts(e.Attempts)
	}
	for i, note := range told.Once(e.Notes...) {
		if i == 0 {
			fmt.Fprintln(a.stdout, "\nNotes:")
		}
		a.paragraph("  ", tell.Capital(tell.Stop(note)))
	}
}

func (a *app) printAttempts(attempts []attempt) {
	for _, t := range attempts {
		mark := " "
		if t.Explained {
			mark = "*"
		}
		session := ""
		if t.Session != "" {
			session = ", session " + t.Session
		}
		fmt.Fprintf(a.stdout, "%s %d  %s  %s (%s)%s\n", mark, t.Attempt, atMinute(t.Time), t.Verdict, tell.Line(t.Because), session)
	}
}

func hypothesisSaid(h *ledger.Hypothesis) (said []string) {
	came := h.Outcome
	if came == "" {
		came = "not decided"
	}
	if h.PostHoc {
		came += ", POST HOC: it was claimed after its launches were measured, so they prove nothing of it"
	}
	said = append(said, fmt.Sprintf("%s %s: %s", h.Metric, h.Expect, came))
	if h.Because != "" {
		said = append(said, "Because: "+h.Because)
	}
	tested := []string{}
	if h.Test != nil {
		for _, c := range h.Test.Comparisons {
			if t := c.Test; t != nil && len(t.Looks) > 0 {
				tested = append(tested, claimStopSaid(t)...)
				if text, _ := intervalSaid(scale{t}); text != "" {
					tested = append(tested, text)
				}
			}
		}
	}
	// What was measured has a plain interval of 95%, which would stand beside that of
	// the test and say something else.
	if len(tested) == 0 && !h.Measured.IsZero() {
		tested = append(tested, "Measured: "+tell.Line(h.Measured))
	}
	return append(said, tested...)
}

// claimStopSaid says why the test of a claim ended: no launch is made for one.
func claimStopSaid(t *verdict.Test) []string {
	if t.Stop != verdict.StopOpen {
		return stopSaid(t, "")
	}
	return []string{openSaid(lastLookOf(t), "launches are made for the criteria, and none for a hypothesis")}
}

func interferenceSaid(f ledger.Interference) string {
	// It begins with a feature's name, which keeps its small letter.
	return fmt.Sprintf("%s. Measured: %s; product: %s.", tell.Line(f.Reason()), tell.Percent(f.Stack, 1), tell.Percent(f.Product, 1))
}

// sessionOrder is how the launches of one session were started.
type sessionOrder struct {
	Session string `json:"session"`
	// Order has a letter for each launch, a group for each round: "AB BA".
	Order string `json:"order"`
	// Arms are the letters' variants: "A baseline".
	Arms     []string     `json:"arms"`
	Launches []sessionRow `json:"launches"`
}

// sessionRow is one launch in the order of a session.
type sessionRow struct {
	// Number is the launch's as the progress had it, and Order counts every start.
	Number  int    `json:"number"`
	Order   int    `json:"order"`
	Round   int    `json:"round"`
	Arm     string `json:"arm"`
	Launch  string `json:"launch"`
	Started string `json:"started"`
	// Aside says why the launch counts for nothing; no fact where it counts.
	Aside verdict.Reason `json:"aside,omitzero"`
}

// letters name the arms of a session.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// ordersOf are the sessions that a decision's launches belong to, with every
// launch that was recorded before it, and what is odd about them.
func ordersOf(st *store.Store, d store.Decided) (orders []sessionOrder, notes []verdict.Reason) {
	used := map[string]bool{}
	var sessions []string
	for _, id := range evidenceLaunches(d.Decision) {
		used[id] = true
		l, ok := st.LaunchByID(id)
		if !ok {
			notes = append(notes, verdict.New(code.LaunchUnrecorded).On(id))
			continue
		}
		if l.Purpose == ledger.ForBenchmark && !slices.Contains(sessions, l.Session) {
			sessions = append(sessions, l.Session)
		}
	}
	for _, session := range sessions {
		launches := before(st, d.Record, session)
		orders = append(orders, orderOf(session, launches, used))
		notes = append(notes, clockNotes(launches)...)
	}
	return orders, notes
}

// before are the launches of a session that stand before a record, in the order
// in which they were started.
func before(st *store.Store, record int, session string) (launches []*ledger.Launch) {
	for i, r := range st.Records() {
		if i >= record {
			break
		}
		if r.Launch != nil && r.Launch.Session == session && r.Launch.Purpose == ledger.ForBenchmark {
			launches = append(launches, r.Launch)
		}
	}
	// By count and not by clock, which may be set back meanwhile.
	slices.SortStableFunc(launches, func(a, b *ledger.Launch) int { return a.Order - b.Order })
	return launches
}

func orderOf(session string, launches []*ledger.Launch, used map[string]bool) sessionOrder {
	out := sessionOrder{Session: session}
	letter := map[string]string{}
	var text strings.Builder
	round, numbers := 0, ledger.Numbers(launches)
	for _, l := range launches {
		if letter[l.Variant] == "" {
			at := min(len(out.Arms), len(letters)-1)
			letter[l.Variant] = letters[at : at+1]
			out.Arms = append(out.Arms, letter[l.Variant]+" "+l.Variant)
		}
		row := sessionRow{numbers[l.ID], l.Order, l.Ordinal, l.Variant, l.ID, l.Started.Local().Format("15:04:05"), asideOf(l)}
		if row.Aside.IsZero() && !used[l.ID] {
			row.Aside = verdict.New(code.NotRead)
		}
		out.Launches = append(out.Launches, row)
		if !asideOf(l).IsZero() {
			continue // another stands in its place
		}
		if round != 0 && l.Ordinal != round {
			text.WriteString(" ")
		}
		round = l.Ordinal
		text.WriteString(letter[l.Variant])
	}
	out.Order = text.String()
	return out
}

// asideOf is why what a launch measured does not count.
func asideOf(l *ledger.Launch) verdict.Reason {
	switch {
	case !l.OK && !l.Error.IsZero():
		return verdict.New(code.AsideBroke).From(l.Error)
	case !l.OK:
		return verdict.New(code.AsideBroke)
	case len(l.Invalid) > 0:
		return verdict.New(code.AsideInvalid).From(l.Invalid...)
	}
	return verdict.Reason{}
}

// clockNotes say where the clock went back between two launches: what is decided
// goes by the order of the starts, and durations by a clock that does not.
func clockNotes(launches []*ledger.Launch) (notes []verdict.Reason) {
	for i, l := range launches[:max(0, len(launches)-1)] {
		next := launches[i+1]
		if next.Started.Before(l.Started) {
			notes = append(notes, verdict.New(code.ClockBack, verdict.Text("by", rough(l.Started.Sub(next.Started).Seconds())), verdict.Text("next", next.ID)).On(l.ID))
		}
		if l.BootID != "" && next.BootID != "" && l.BootID != next.BootID {
			notes = append(notes, verdict.New(code.Rebooted, verdict.Text("next", next.ID)).On(l.ID))
		}
	}
	for _, l := range launches {
		if l.Replaces != "" {
			notes = append(notes, verdict.New(code.InPlaceOf, verdict.Text("other", l.Replaces)).On(l.ID))
		}
	}
	return notes
}

// mostCauses bounds a chain of causes.
const mostCauses = 20

// causesOf leads from a decision that its own evidence did not make to what did:
// the nodes it rests on that did not pass, as they stood then.
func causesOf(st *store.Store, d store.Decided) (causes []verdict.Reason) {
	seen := map[string]bool{d.Node: true}
	var add func(d store.Decided)
	add = func(d store.Decided) {
		for _, node := range restsOn(d) {
			under, ok := asOf(st, node, d.Record)
			if !ok || seen[node] || under.Verdict.Unlocks() || len(causes) >= mostCauses {
				continue
			}
			seen[node] = true
			causes = append(causes, verdict.New(code.OutcomeWas).On(node).Is(under.Verdict).From(tell.Few(reasonsOf(under.Decision), 1)...))
			add(under)
		}
	}
	add(d)
	for _, ev := range d.Evidence {
		if ev.Broken != "" && len(causes) == 0 {
			causes = append(causes, verdict.New(code.Unread).On(ev.Feature).Is(ev.Broken).From(ev.Cause))
		}
	}
	return causes
}

// restsOn are the nodes that a decision of that kind rests on directly.
func restsOn(d store.Decided) (nodes []string) {
	switch runtime.Kind(d.Kind) {
	case runtime.KindGate, runtime.KindPhase:
		for _, ev := range d.Evidence {
			nodes = append(nodes, runtime.FeatureID(ev.Feature))
		}
	case runtime.KindFeature, runtime.KindCriteria:
		names := []string{runtime.CandidateOf(d.Node)}
		for _, alt := range d.Alternatives {
			names = append(names, alt.Name)
		}
		for _, name := range names {
			nodes = append(nodes, runtime.BenchmarkID(name), runtime.QualifyID(name))
		}
		nodes = append(nodes, runtime.BaselineID)
	case runtime.KindBenchmark:
		nodes = append(nodes, runtime.QualifyID(runtime.CandidateOf(d.Node)), runtime.BaselineID)
	case runtime.KindQualify:
		nodes = append(nodes, runtime.BaselineID)
	}
	return nodes
}

// asOf is the newest decision about a node that stands before a record.
func asOf(st *store.Store, node string, record int) (found store.Decided, ok bool) {
	for _, d := range st.History(node) {
		if d.Record < record {
			found, ok = d, true
		}
	}
	return found, ok
}

// reasonsOf are why a node came out as it did: of its first level that did not
// pass, else its own.
func reasonsOf(d *ledger.Decision) []verdict.Reason {
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass {
			return []verdict.Reason{l.Bare().From(tell.Few(l.Reasons, 1)...)}
		}
	}
	return d.Reasons
}

// lockCauses lead from a lock to why the node came out so that is its root.
func lockCauses(st *store.Store, cause verdict.Reason) []verdict.Reason {
	d, _, known := st.Latest(cause.Subject)
	if cause.Code != code.Outcome || len(cause.Causes) > 0 || !known || d.Verdict != cause.Verdict {
		return []verdict.Reason{cause}
	}
	causes := []verdict.Reason{cause.From(tell.Few(reasonsOf(d), 3)...)}
	history := st.History(cause.Subject)
	if report.TestsDecided(d) {
		return causes
	}
	return append(causes, causesOf(st, history[len(history)-1])...)
}

// marksOf are what people said of a decision: that it was withdrawn, and waivers.
func marksOf(st *store.Store, d store.Decided, now time.Time) (marks []verdict.Reason) {
	if r := d.Retraction; r != nil {
		was := r.Was()
		was.Code = code.WasWithdrawn
		marks = append(marks, was.From(r.Of(d.Node)))
	}
	decidedBy := map[int]int{} // by attempt: what only got another hypothesis is one decision
	for _, other := range st.History(d.Node) {
		decidedBy[other.Attempt] = other.DecidedBy()
		if r := other.Retraction; r != nil && other.Attempt > d.Attempt && decidedBy[r.Attempt] == d.DecidedBy() {
			marks = append(marks, verdict.New(code.WithdrawnLater, verdict.Text("when", ledger.Minute(other.Time))).From(r.Of(d.Node)))
			break // later ones carry the same act on
		}
	}
	var waiver *ledger.Waiver
	for _, r := range st.Records() {
		if r.Waiver.About(d.Decision) {
			waiver = r.Waiver
		}
	}
	if bears := waiver.Bears(d.Decision, now); !bears.IsZero() {
		marks = append(marks, verdict.New(code.EvidenceStays).Is(d.Verdict).From(bears))
	}
	return marks
}

// unmarked are the reasons of a decision that its marks do not say.
func unmarked(d *ledger.Decision) []verdict.Reason {
	r := d.Retraction
	if r == nil {
		return d.Reasons
	}
	return slices.DeleteFunc(slices.Clone(d.Reasons), func(reason verdict.Reason) bool {
		return reason.Equal(r.Of(d.Node)) || reason.Equal(r.Was())
	})
}

// atMinute writes a time as people look for it on this machine.
func atMinute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// goesOn is what a comparison is called that more launches are made for.
const goesOn = "continue with more launches"

// noMore is why no more launches are made for what a rule left open, of the set of
// which it is the one at i; empty where more are.
func noMore(rules []verdict.Rule, i int) string {
	if !rules[i].Decides {
		return "launches are made for what decides, and it is recorded only"
	}
	if v := rules[i].Verdict; v == verdict.Pass || v == verdict.Fail {
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

// openSaid says of a comparison that stayed open after a look what follows.
func openSaid(at, what string) string { return fmt.Sprintf("Still open after %s: %s.", at, what) }

// explainWidth is where sentences of an explanation wrap.
const explainWidth = 92

func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return "(" + unit + ")"
}

// indentedTable prints a table below a rule.
func (a *app) indentedTable(head []string, rows [][]string) {
	var b strings.Builder
	width := a.fits()
	if width > 0 {
		width -= 3
	}
	table.Draw(&b, head, rows, false, width)
	fmt.Fprintln(a.stdout)
	for line := range strings.Lines(b.String()) {
		fmt.Fprint(a.stdout, strings.TrimRight("   "+line, " \n")+"\n")
	}
}

func (a *app) paragraphs(indent string, texts []string) {
	for _, t := range texts {
		a.paragraph(indent, t)
	}
}

// paragraph prints a text between words, its later lines a little further in.
func (a *app) paragraph(indent, text string) {
	for i, line := range strings.Split(table.Wrap(text, min(explainWidth, a.width())-len(indent)), "\n") {
		if i > 0 {
			line = "  " + line
		}
		fmt.Fprintln(a.stdout, indent+line)
	}
}

// spans writes ascending numbers briefly: "3, 4, 7 and 12 to 16".
func spans(numbers []int) string {
	var words []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		switch {
		case j > i+1:
			words = append(words, fmt.Sprintf("%d to %d", numbers[i], numbers[j]))
		case j > i:
			words = append(words, fmt.Sprint(numbers[i]), fmt.Sprint(numbers[j]))
		default:
			words = append(words, fmt.Sprint(numbers[i]))
		}
		i = j + 1
	}
	return verdict.And(words)
}
