package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/replay"
)

// replayFlags are those of audit replay.
type replayFlags struct {
	changed, node, suite string
	vars                 []load.Given
}

func newReplayCommand(a *app) *cobra.Command {
	var flags replayFlags
	c := &cobra.Command{
		Use:   "replay [PLAN|FILE]",
		Short: "Decide every recorded level, feature and gate again from raw data, and compare",
		Long: `Decides every recorded decision about levels, features and gates again, also those that
others took the place of: levels from the answers, logs and outputs that their launches
kept, metrics from the raw samples, rules from the plan that the run recorded,
launch-to-launch variance from the launches before the session. What cannot be decided
again (steps, whether a benchmark's launches count, levels in which the engine died) is
listed.
Every verdict of a rule or a comparison has to come out the same, and every number
bit for bit (within 1e-9 where it was recorded on another architecture). Nothing is
started and nothing is written. FILE is what audit export wrote.

Exit status: 0 everything agrees; 2 something came out otherwise, which is listed;
3 nothing could be decided again, or not all that stands: its plan cannot be compiled
any more, so only the tests that it recorded were computed again; 4 the ledger is
damaged, or raw data are missing or damaged; 1 wrong usage.

--plan CHANGED decides the same evidence by another plan's rules, thresholds and
decision settings: what would have come out, gate by gate. What was never measured
is not known, be it a level, a workload, a knob, a step or a feature that the changed
plan adds, and where launches ended because the recorded rules were decided, they may
be too few for others: all are inconclusive and say so. Another engine, workload or
level than was measured makes what it touches invalid. Exit status then, as of
apply: 0 every gate of the changed plan would have passed, 2 one would have failed or
been invalid, 3 one would be inconclusive or a feature was never measured, 4 raw data
are missing, 1 the changed plan has mistakes.

The recorded plan is compiled with the variables, the suite and the environment that
the run recorded, whatever is given now. Sensitive values are in no record: with --var,
--var-file or MXFLOW_VAR_name as they were given then, all of the plan is checked;
without, each rule is compiled from the text that its decision recorded. The changed
plan has the variables and the suite that are given now.`,
		Example: "  mxflow audit replay plan.hcl\n" +
			"  mxflow audit replay plan.hcl --node cutlass\n" +
			"  mxflow audit replay plan.hcl --plan stricter.hcl",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if flags.changed == "" && flags.suite != "" {
				return errors.New("--suite is for the changed plan of --plan: the suite of a recorded plan is on record")
			}
			if flags.changed != "" && flags.node != "" {
				return errors.New("--plan and --node do not go together: a changed plan is decided as a whole, since what a gate reads follows from its features")
			}
			st, err := a.evidence(stateBeside(a, args, flags.changed))
			if err != nil {
				var damage *ledger.DamageError
				if errors.As(err, &damage) || errors.Is(err, errLedgerGone) {
					return a.fail(verdict.ExitBroken, err)
				}
				return err
			}
			defer st.Close()
			if flags.changed != "" {
				return replayWith(a, st, flags)
			}
			return replayRecorded(a, st, flags)
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.Flags().StringVar(&flags.changed, "plan", "", "decide by the rules of this plan instead of the recorded one")
	c.Flags().StringVar(&flags.node, "node", "", "only decisions about this node")
	varFlag(c, &flags.vars)
	suiteFlag(c, &flags.suite)
	return c
}

// stateBeside is where the state directory is looked for: beside the plan that is
// named, else in the current folder, else beside the changed plan.
func stateBeside(a *app, args []string, changed string) []string {
	if len(args) > 0 || changed == "" || a.state != "" {
		return args
	}
	if _, err := os.Stat(store.DirName); err == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(planDir(changed), store.DirName)); err == nil {
		return []string{changed}
	}
	return nil
}

// newReplay can tell sensitive values from others where the state directory has the
// key to do so.
func newReplay(st *store.Store, flags replayFlags) *replay.Replay {
	r := replay.New(st, steps.Registry(), flags.vars)
	r.Judge = levels.Judge{Store: st}
	if key, err := store.KnownSecretKey(st.Dir()); err == nil {
		r.Seal = func(text string) string { return redact.Sealed(key, text) }
	}
	return r
}

// replayResult is what deciding again came to.
type replayResult struct {
	Decisions []replay.Replayed      `json:"decisions"`
	Counts    map[replay.Outcome]int `json:"counts"`
	Numbers   int                    `json:"numbers"`
	Agrees    bool                   `json:"agrees"`
	// Unreplayed is what was not decided again: nodes by level, and by the kind of decision.
	Unreplayed map[string][]string `json:"unreplayed,omitempty"`
	// partly are decisions that stand, of which only the recorded tests could be
	// computed again.
	partly int
}

func replayRecorded(a *app, st *store.Store, flags replayFlags) error {
	r, node := newReplay(st, flags), ""
	if flags.node != "" {
		var err error
		if node, err = findNode(st, flags.node); err != nil {
			return err
		}
	}
	out := replayResult{Decisions: []replay.Replayed{}, Counts: map[replay.Outcome]int{}}
	for _, d := range r.Decisions() {
		if node != "" && d.Node != node {
			continue
		}
		again := r.Decide(d)
		out.Decisions = append(out.Decisions, again)
		out.Counts[again.Outcome]++
		out.Numbers += again.Numbers
		for _, level := range again.Unreplayed {
			out.alone("level "+level, d.Node)
		}
		if again.Outcome == replay.TestsAgree && again.Stands {
			out.partly++
		}
	}
	if node == "" {
		for _, d := range r.Alone() {
			out.alone(d.Kind, d.Node)
		}
	}
	n := out.Counts
	out.Agrees = n[replay.Agrees] > 0 && n[replay.Differs] == 0 && n[replay.Broken] == 0 && out.partly == 0
	if a.json {
		a.printJSON(out)
	} else {
		printReplay(a, out)
	}
	switch {
	case n[replay.Differs] > 0:
		return a.fail(verdict.ExitFail, fmt.Errorf("%s did not come out as recorded", tell.Count(n[replay.Differs], "decision")))
	case n[replay.Broken] > 0:
		return a.fail(verdict.ExitBroken, fmt.Errorf("%s cannot be decided again, because raw data are missing or damaged", tell.Count(n[replay.Broken], "decision")))
	case out.partly > 0:
		return a.fail(verdict.ExitInconclusive, fmt.Errorf("of %s in force only the tests could be computed again: the plan cannot be compiled as it was recorded. If it needs variables, give them again with --var or --var-file", tell.Count(out.partly, "decision")))
	case n[replay.Agrees] == 0:
		return a.fail(verdict.ExitInconclusive, errors.New("there is nothing to decide again: no feature and no gate was decided by rules here"))
	}
	return nil
}

// alone notes that what a node came to is known from the ledger alone.
func (out *replayResult) alone(what, node string) {
	if out.Unreplayed == nil {
		out.Unreplayed = map[string][]string{}
	}
	if !slices.Contains(out.Unreplayed[what], node) {
		out.Unreplayed[what] = append(out.Unreplayed[what], node)
	}
}

// replayWith decides the recorded evidence by another plan.
func replayWith(a *app, st *store.Store, flags replayFlags) error {
	loaded, _, err := a.load(flags.changed, load.Options{Inputs: flags.vars, Suite: flags.suite})
	if err != nil {
		return err
	}
	p := loaded.Plan
	if runs := st.Runs(); len(runs) == 0 {
		return a.fail(verdict.ExitInconclusive, fmt.Errorf("nothing was applied here, so there is no evidence to decide by"))
	} else if was := runs[len(runs)-1].Plan; was != p.Name {
		return fmt.Errorf("%s is plan %q, and plan %q is what was recorded in %s: give the changed plan the same name, or name the other plan's folder", flags.changed, p.Name, was, st.Dir())
	}
	outcomes, notes := newReplay(st, flags).With(p)
	locked := map[string]verdict.Reason{}
	for _, l := range report.Locked(st) {
		locked[l.Node] = l.Cause
	}
	var rows [][]string
	var gates []verdict.Verdict
	var open, unmeasured []string
	for i, w := range outcomes {
		outcomes[i].RecordedLocked = locked[w.Node]
		rows = append(rows, []string{w.Node, orLocked(cmp.Or(w.Recorded, "–"), locked[w.Node]), orLocked(w.WouldBe, w.Locked), strings.Join(tell.Lines(w.Reasons), "\n")})
		if !w.Locked.IsZero() {
			continue // the phase that locks it is among them
		}
		switch feature := w.Kind == ledger.KindFeature; {
		case feature && w.Unmeasured:
			unmeasured = append(unmeasured, w.Node)
		case feature && (w.WouldBe == verdict.Inconclusive || w.WouldBe == verdict.Invalid):
			open = append(open, w.Node)
		case !feature && w.Unmeasured:
			gates = append(gates, w.WouldBe, verdict.Inconclusive)
		case !feature:
			gates = append(gates, w.WouldBe)
		}
	}
	ofGates := verdict.Join(gates...)
	total := ofGates
	if len(unmeasured) > 0 {
		total = verdict.Join(ofGates, verdict.Inconclusive)
	}
	if a.json {
		a.printJSON(map[string]any{"plan": p.Name, "nodes": outcomes, "notes": notes, "verdict": total})
	} else {
		a.printTable([]string{"node", "recorded", "would be", "why"}, rows)
		fmt.Fprintln(a.stdout)
		for _, n := range notes {
			table.Paragraph(a.stdout, "", tell.Line(n), a.width())
		}
		fmt.Fprintln(a.stdout, changedSaid(ofGates, total, open, unmeasured)+" Nothing was started and nothing was recorded.")
	}
	a.exit = total.ExitCode()
	return nil
}

// changedSaid says in a sentence what would have become of the gates, and of the
// features that no gate waits for.
func changedSaid(ofGates, total verdict.Verdict, open, unmeasured []string) string {
	if ofGates != verdict.Pass {
		return fmt.Sprintf("Not every gate of the changed plan would have passed: %s.", total)
	}
	said := "Every gate of the changed plan would have passed"
	if len(unmeasured) > 0 {
		said += fmt.Sprintf(", but no run measured %s, so an apply would measure first: %s", verdict.And(unmeasured), total)
	}
	said += "."
	if len(open) > 0 {
		said += fmt.Sprintf(" What would have become of %s is not known.", verdict.And(open))
	}
	return said
}

// mostListed is how many decisions are listed that agree; of more, only those that
// do not.
const mostListed = 40

// mostDifferences bounds the list of differences of one decision.
const mostDifferences = 20

func printReplay(a *app, out replayResult) {
	rows, differences := [][]string{}, [][]string{}
	for _, d := range out.Decisions {
		if d.Outcome != replay.Agrees || len(out.Decisions) <= mostListed {
			rows = append(rows, []string{d.Node, fmt.Sprint(d.Attempt), string(d.Recorded), string(cmp.Or(d.Again, "–")), string(d.Outcome), string(d.Rules)})
		}
		for i, diff := range d.Differences {
			if i == mostDifferences {
				differences = append(differences, []string{d.Node, fmt.Sprint(d.Attempt), fmt.Sprintf("and %d more", len(d.Differences)-i), "", "", ""})
				break
			}
			differences = append(differences, []string{d.Node, fmt.Sprint(d.Attempt), diff.Rule, diff.What, diff.Recorded, diff.Again})
		}
	}
	if len(rows) > 0 {
		a.printTable([]string{"node", "attempt", "recorded", "again", "outcome", "rules from"}, rows)
		fmt.Fprintln(a.stdout)
	}
	if len(differences) > 0 {
		a.printTable([]string{"node", "attempt", "rule", "what", "recorded", "again"}, differences)
		fmt.Fprintln(a.stdout)
	}
	printNotes(a, out)
	agree := out.Counts[replay.Agrees]
	switch {
	case out.Agrees:
		fmt.Fprintf(a.stdout, "Everything agrees: %s with %s.\n", tell.Count(agree, "decision"), tell.Count(out.Numbers, "number"))
	case agree > 0:
		fmt.Fprintf(a.stdout, "%s of %d agree.\n", tell.Count(agree, "decision"), len(out.Decisions))
	}
	var alone []string
	for _, what := range slices.Sorted(maps.Keys(out.Unreplayed)) {
		alone = append(alone, fmt.Sprintf("%s (%s)", what, strings.Join(out.Unreplayed[what], ", ")))
	}
	if len(alone) > 0 {
		table.Paragraph(a.stdout, "", "Not replayed, known from the ledger alone: "+strings.Join(alone, "; ")+".", a.width())
	}
}

// printNotes says once what holds for several decisions.
func printNotes(a *app, out replayResult) {
	var said []string
	for _, d := range out.Decisions {
		if !d.Why.IsZero() && d.Outcome != replay.Agrees && d.Outcome != replay.Differs && d.Outcome != replay.TestsAgree {
			said = append(said, fmt.Sprintf("%s, attempt %d, %s: %s.", d.Node, d.Attempt, d.Outcome, tell.Line(d.Why)))
		}
		for _, n := range d.Notes {
			if text := tell.Line(n); !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}
	for i, text := range said {
		if i == mostListed {
			fmt.Fprintf(a.stdout, "And %d more notes; --json has all.\n", len(said)-i)
			break
		}
		table.Paragraph(a.stdout, "", text, a.width())
	}
}

// orLocked is what stands in a table for the verdict of a node that may be locked.
func orLocked(came verdict.Verdict, cause verdict.Reason) string {
	if !cause.IsZero() {
		return "locked"
	}
	return string(came)
}
