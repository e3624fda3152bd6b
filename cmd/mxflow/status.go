package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/outcome"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func newStatusCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "status [PLAN]",
		Short: "Show where each phase stands",
		Long: `Shows whether an apply is under way or was killed, whether the plan's files are still
what was applied, and the newest decision about each step, feature and gate in the
plan's order, with what is locked, what no run has reached yet, and last what the
plan no longer has; the accepted stack with what each part gained and the knob
values that result; the plan's targets, who is beaten and by how much; and what became
of the hypotheses. It reads the state directory beside PLAN, or in the current folder,
and needs no lock.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			st, work, err := openStanding(a, args)
			if err != nil {
				return err
			}
			defer st.Close()
			runs := st.Runs()
			if a.json {
				out := standingJSON(st)
				out["newest_run"], out["plan"] = work, comparePlan(a, st, args)
				a.printJSON(out)
				return nil
			}
			if len(runs) == 0 {
				fmt.Fprintln(a.stdout, "Nothing was applied here.")
				return nil
			}
			last := runs[len(runs)-1]
			fmt.Fprintf(a.stdout, "plan %s: %s\n", last.Plan, workSays(work, last))
			if says := comparePlan(a, st, args).says(last.ID); says != "" {
				fmt.Fprintln(a.stdout, says)
			}
			fmt.Fprintln(a.stdout)
			a.printTable([]string{"phase", "node", "verdict", "", "decided"}, statusRows(st, a.height()), "decided")
			printOverruled(a, report.OverruledNow(st, time.Now()))
			printAgain(a, st)
			if n := len(st.Refusals()); n > 0 {
				fmt.Fprintf(a.stdout, "\n%s of proposers refused; mxflow audit lists them.\n", tell.Count(n, "request"))
			}
			printStack(a, st)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	return c
}

// printAgain says what was decided by rules that were moved after the launches were
// seen, or from more than one start.
func printAgain(a *app, st *store.Store) {
	said := false
	for _, d := range report.Standing(st) {
		if again := st.DecidedAgain(d); len(again) > 0 {
			if !said {
				fmt.Fprintln(a.stdout)
				said = true
			}
			fmt.Fprintf(a.stdout, "%s %s (attempt %d): %s\n", d.Node, tell.Did(d.Verdict), d.Attempt, tell.Joined(again))
		}
	}
}

// statusRows is what people decide by: baseline, steps, features and gates. Of a plan that
// has more nodes than a screen has lines, steps that passed are counted.
func statusRows(st *store.Store, most int) [][]string {
	var rows [][]string
	now := time.Now()
	var waived []string
	for _, o := range report.OverruledNow(st, now) {
		if o.State == "waived" {
			waived = append(waived, o.Node)
		}
	}
	all, passed := report.Rows(st), 0
	for _, r := range all {
		if measures(r.Node) {
			continue
		}
		if d := r.Decided; len(all) > most && d != nil && d.Kind == ledger.KindStep && d.Verdict == verdict.Pass && !r.Gone {
			passed++
			continue
		}
		row := []string{r.Phase, r.Node, "–", "not decided yet", ""}
		switch d := r.Decided; {
		case !r.Locked.IsZero():
			row[2], row[3] = outcome.Locked(r.Locked), tell.Line(r.Locked)
			if r.Locked.Code == code.Outcome && slices.Contains(waived, r.Locked.Subject) {
				row[3] += ", since waived: the next apply continues past it"
			}
		case d != nil:
			o := report.OverruledOf(d.Decision, st.Waiver(d.Node), now)
			row[2], row[3], row[4] = o.Word(), o.Note(), atMinute(d.Time)
			if row[3] == "" && d.Accepted {
				row[3] = "accepted" + chosenWord(d.Decision)
			}
		}
		if r.Gone {
			row[3] = "no longer in the plan"
		}
		rows = append(rows, row)
	}
	if passed > 0 {
		rows = append(rows, []string{"", "and " + tell.Count(passed, "step"), string(verdict.Pass)})
	}
	return rows
}

// chosenWord names the alternative that stands for a feature that chooses.
func chosenWord(d *ledger.Decision) string {
	for _, alt := range d.Alternatives {
		if alt.Chosen {
			return ": " + alt.Name
		}
	}
	return ""
}

// measures reports whether a node only measures what another one decides.
func measures(node string) bool {
	name := runtime.CandidateOf(node)
	return node == runtime.QualifyID(name) || node == runtime.BenchmarkID(name)
}

// planNow is the plan that a state directory belongs to, as it lies there now.
type planNow struct {
	// File is where it was looked for.
	File string `json:"file"`
	// State is "as applied", "changed" or "missing"; empty where that is not known.
	State string `json:"state,omitempty"`
}

// How the files of a plan compare with those of the newest run.
const (
	planAsApplied = "as applied"
	planChanged   = "changed"
	planMissing   = "missing"
)

// comparePlan compares the plan's files with the text that the newest run kept of them.
// It does not load the plan: variables, and files that were added, are not seen.
func comparePlan(a *app, st *store.Store, args []string) planNow {
	runs := st.Runs()
	if len(runs) == 0 {
		return planNow{}
	}
	view, err := st.Run(runs[len(runs)-1].ID)
	if err != nil || view.Start == nil {
		return planNow{}
	}
	if len(args) == 0 && a.state != "" {
		return planNow{File: view.PlanFile} // which may be the path of another plan, seen from here
	}
	// Without a plan the state directory is that of this folder, and so is the plan.
	dir := "."
	if len(args) > 0 {
		dir = planDir(args[0])
	}
	file := "" // where the plan is a folder
	if planText(view.PlanFile) {
		file = filepath.Join(dir, filepath.Base(view.PlanFile))
		if len(args) > 0 && dir != args[0] {
			file = args[0]
		}
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return planNow{file, planMissing}
		}
	}
	return planNow{cmp.Or(file, dir), sourcesNow(st, view.Start, file, dir)}
}

// planText reports whether a name is that of a file that is part of a plan.
func planText(name string) bool {
	return slices.Contains([]string{".hcl", ".yaml", ".yml"}, filepath.Ext(name))
}

// sourcesNow compares each file of a plan, which lies in a folder; empty where one
// cannot be compared and none differs, as where a plan is a folder with one file.
func sourcesNow(st *store.Store, start *ledger.RunStart, file, dir string) string {
	sums, state := map[string]string{}, planAsApplied
	from := start.PlanFile
	if file != "" {
		sums[file], from = start.PlanSource, filepath.Dir(from)
	}
	for name, sum := range start.PlanSources {
		rel, err := filepath.Rel(from, filepath.FromSlash(name))
		if planText(name) && err == nil && (file == "" || rel != filepath.Base(start.PlanFile)) {
			sums[filepath.Join(dir, rel)] = sum
		}
	}
	if len(sums) == 0 {
		state = ""
	}
	for path, sum := range sums {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return planChanged // what includes it is another plan, or none
		}
		if err != nil {
			state = ""
			continue
		}
		if now := sha256.Sum256(text); hex.EncodeToString(now[:]) == sum {
			continue
		}
		// What was kept has no secrets in it, so that it may differ for that alone.
		if kept, err := st.Get(sum); err != nil || bytes.Contains(kept, []byte(redact.Mark)) {
			state = ""
			continue
		}
		return planChanged
	}
	return state
}

// says is what a reader of the decisions has to know of the plan; empty where it is
// as it was.
func (p planNow) says(run string) string {
	switch p.State {
	case planChanged:
		return p.File + " is not what run " + run + " applied; mxflow plan " + shell.Quote(p.File) + " says what an apply would do"
	case planMissing:
		return p.File + ", which run " + run + " applied, is gone"
	}
	return ""
}

// atMinute writes a time as people look for it on this machine.
func atMinute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// standingJSON is what status and report say in JSON.
func standingJSON(st *store.Store) map[string]any {
	return map[string]any{
		"runs": st.Runs(), "decisions": report.Standing(st), "locked": report.Locked(st), "overruled": report.OverruledNow(st, time.Now()), "waivers": st.Waivers(),
		"stack": report.AcceptedStack(st), "targets": report.Contests(st), "hypotheses": report.Claims(st), "interactions": report.Interactions(st),
		"undecided": report.Undecided(st), "not_in_plan": report.Gone(st), "refusals": st.Refusals(),
	}
}

// printStack shows what was accepted, whom it beats, and what became of claims.
func printStack(a *app, st *store.Store) {
	s := report.AcceptedStack(st)
	if len(s.Features) == 0 {
		fmt.Fprintln(a.stdout, "\naccepted stack: empty, which is the baseline")
	} else {
		fmt.Fprintf(a.stdout, "\naccepted stack: %s\n\n", s.Sum())
		for i, f := range s.Features { // the criteria that it met beside are in the report
			s.Features[i].Reasons = f.Reasons[:min(1, len(f.Reasons))]
		}
		reportTable(a, report.StackTable(s, atMinute))
		if len(s.Knobs) > 0 {
			fmt.Fprintf(a.stdout, "\nknobs: %s\nmxflow env accepted prints what reproduces it.\n", report.KnobWords(s.Knobs))
		}
	}
	contests, claims := report.Contests(st), report.Claims(st)
	if len(contests) > 0 {
		fmt.Fprintln(a.stdout)
		reportTable(a, report.ContestTable(contests), report.ContestNotes(contests)...)
	}
	if len(claims) > 0 {
		fmt.Fprintln(a.stdout)
		reportTable(a, report.ClaimTable(claims), report.ClaimNotes(claims)...)
	}
	for _, i := range report.Interactions(st) {
		fmt.Fprintf(a.stdout, "\n%s\n", i.Says())
	}
}

// reportTable prints a table of the report with heads as terminals have them, and notes.
func reportTable(a *app, t report.Table, notes ...string) {
	heads := make([]string, len(t.Head))
	for i, h := range t.Head {
		heads[i] = strings.ToLower(h[:1]) + h[1:]
	}
	a.printTable(heads, t.Rows, "gate", "decided")
	for _, n := range notes {
		fmt.Fprintln(a.stdout, n)
	}
}

// openStanding opens a state directory and says how its newest run stands. That
// it was killed counts only where the ledger still has no end of it when it is read
// again after the lock was looked at: it may have come to its end in between, or
// another run have begun.
func openStanding(a *app, args []string) (*store.Store, report.Work, error) {
	seen := ""
	for {
		st, err := a.reader(args)
		if err != nil {
			return nil, report.Work{}, err
		}
		w := report.WorkOn(st)
		if w.Run == seen || w.State != report.Killed && w.State != report.Unknown {
			return st, w, nil
		}
		seen = w.Run
		st.Close()
	}
}

// workSays is how the newest run stands, behind its plan's name.
func workSays(w report.Work, last store.RunInfo) string {
	text := fmt.Sprintf("last run %s %s, exit status %d", last.ID, tell.Line(last.Reason), last.Exit)
	switch w.State {
	case report.UnderWay:
		return fmt.Sprintf("run %s is under way%s", last.ID, workWho(w))
	case report.Unknown:
		text = fmt.Sprintf("the last run, %s, has no end on record: it is under way or was killed, and which of the two cannot be told here", last.ID)
	case report.Killed:
		text = fmt.Sprintf("the last run, %s, did not finish (killed?): apply resumes it", last.ID)
	}
	switch {
	case w.Held && w.State == report.Unknown:
		text += "\na process is at work on this state directory now" + workWho(w)
	case w.Held:
		text += "\nanother process is at work on this state directory now" + workWho(w)
	}
	return text
}

func workWho(w report.Work) string {
	if w.Holder == nil {
		return ""
	}
	return fmt.Sprintf(" (process %d on %s, since %s)", w.Holder.PID, w.Holder.Host, tell.Second(w.Holder.Started))
}
