package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/questions/arms"
	"github.com/mxflow/mxflow/steps/questions/bisect"
)

// bisectFlags are the flags of a search.
type bisectFlags struct {
	plan, good, bad, images, source, rule string
	rerun, reuse, dryRun                  bool
	vars                                  []load.Given
}

func newBisectCommand(a *app) *cobra.Command {
	var q bisectFlags
	c := &cobra.Command{
		Use:   "bisect [PLAN] --good A --bad B",
		Short: "Find the commit, image or package pin that made it slower",
		Long: `Measures the baseline of a plan at good and at bad. If bad breaks the rule, halves
what lies between: each candidate is compared with good in fresh launches that
take turns, at half of what bad lost. At the end, the one found is compared with
the one before it, so at most 5% of searches name a wrong one.

A and B are commits of the source that the engine is built from, files of package
pins, of which the source's build reads one from $MXFLOW_PINS, or lines of a file
of images (--images). What does not build or start is skipped and named.

The rule compares bad with good, as in --rule 'chat.ttft.change <= 5%', or asks a
level: --rule "levels.correctness == 'pass'".

Everything is recorded in .mxflow-bisect beside the plan: the same command line
resumes after Ctrl-C or a kill. The report is bisect.md there.

Exit status: 0 found, 1 refused before anything started, 2 bad does not break the
rule, 3 only a range was found or nothing, 4 good or bad cannot be measured,
130 interrupted.`,
		Example: `  mxflow bisect plan.hcl --good v0.26.0 --bad v0.29.0
  mxflow bisect plan.hcl --good v1 --bad main --rule 'chat.pp.gain >= -5%'
  mxflow bisect plan.hcl --images nightlies.txt
  mxflow bisect plan.hcl --good before.txt --bad after.txt --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			a.fold()
			if q.plan, err = a.planOf(args); err != nil {
				return err
			}
			return q.run(c.Context(), a)
		},
	}
	f := c.Flags()
	f.StringVar(&q.good, "good", "", "commit, image or file of pins, `A`, that is as it should be")
	f.StringVar(&q.bad, "bad", "", "`B` after it that is not")
	f.StringVar(&q.images, "images", "", "`FILE` of images, one on each line, from good to bad")
	f.StringVar(&q.source, "repo", "", repoUsage)
	f.StringVar(&q.rule, "rule", "", "`RULE` that bad breaks (default: its decode speed is at most 3% lower)")
	varFlag(c.Flags(), &q.vars)
	f.BoolVar(&q.rerun, "rerun", false, "measure everything again")
	reuseFlag(c.Flags(), &q.reuse)
	f.BoolVar(&q.dryRun, "dry-run", false, dryRunUsage)
	a.jsonFlag(c.Flags())
	c.MarkFlagsMutuallyExclusive("dry-run", "json")
	return c
}

func (q *bisectFlags) run(ctx context.Context, a *app) error {
	loaded, _, err := a.load(q.plan, load.Options{Inputs: q.vars})
	if err != nil {
		return err
	}
	top := filepath.Join(lang.FolderOf(q.plan), ".mxflow-bisect")
	list, err := q.candidates(ctx, loaded.Plan, top)
	if err != nil {
		return err
	}
	if cells := loaded.Plan.SentCells(); q.rule == "" && len(cells) != 1 {
		return fmt.Errorf("say what bad breaks, as the plan sends %d loads: --rule '%s.tg.gain >= -3%%'", len(cells),
			append(cells, "WORKLOAD")[0])
	} else if q.rule == "" {
		q.rule = cells[0] + ".tg.gain >= -3%"
	}
	folder, state := a.state, a.state
	if first, last := list[0], list[len(list)-1]; state == "" {
		folder = filepath.Join(top, runtime.Digest(filepath.Base(q.plan), q.source, q.rule, first.Arm, last.Arm)[:8])
		state = filepath.Join(folder, store.DirName)
	}
	j := &bisect.Job{Plan: loaded.Plan, Candidates: list, Source: q.source, Rule: q.rule, State: state, Rerun: q.rerun}
	first, err := j.First()
	if err != nil {
		return err
	}
	var wrong error
	asked, graph, err := a.loadReporting(q.plan, load.Options{Inputs: q.vars, Question: first},
		func(res *lang.Findings) {
			for _, d := range res.Diagnostics { // of the question, as the plan itself has no errors
				if d.Severity == hcl.DiagError {
					wrong = cmp.Or(wrong, fmt.Errorf("--rule %q: %s", q.rule, d.Detail))
				}
			}
		})
	if err = cmp.Or(wrong, err); err != nil {
		return err
	}
	if err := j.Check(asked); err != nil {
		return err
	}
	show := &view.Bisect{Job: j, Screen: a.screen, File: filepath.Join(folder, "bisect.md")}
	if a.json {
		show.JSON = a.printLine
	} else if err := q.ask(a, show, asked, graph); err != nil {
		return err
	}
	if q.dryRun {
		return nil
	}
	if err := os.MkdirAll(state, 0o755); err != nil {
		return err
	}
	if a.state == "" {
		if err := arms.Folder(top); err != nil {
			return err
		}
	}
	beginStream(a)
	ended := 0
	j.Observe = show.Finding
	j.Apply = func(ctx context.Context, question, feature string, target []string) error {
		run := applying{
			path: q.plan, dir: state, given: load.Options{Inputs: q.vars, Question: question},
			target: target, reuse: q.reuse,
			watch: show.Watch(newProgress(a, true)), tell: a.errorsOnly,
		}
		if q.rerun {
			run.rerun = []string{feature}
		}
		_, err := applyPlan(ctx, a, run)
		ended = a.exit
		return err
	}
	answer, err := bisect.Search(ctx, len(list), j)
	switch {
	case errors.Is(err, bisect.ErrStopped):
		a.exit = verdict.ExitInterrupted
		fmt.Fprintln(a.stderr, "interrupted: the same command goes on from here")
		return nil
	case err != nil && ended != 0:
		return a.fail(max(ended, verdict.ExitBroken), err)
	case err != nil:
		return err
	}
	a.exit = map[bisect.Outcome]int{bisect.Found: verdict.ExitPass, bisect.Same: verdict.ExitFail}[answer.Outcome]
	switch bad := answer.Findings[j.Bad()]; {
	case answer.Outcome == bisect.Open && bad.State == bisect.Skipped:
		a.exit = verdict.ExitBroken
	case answer.Outcome == bisect.Between || answer.Outcome == bisect.Open:
		a.exit = verdict.ExitInconclusive
	}
	return show.End(ctx, answer, a.exit)
}

// candidates are what is searched, by the flags.
func (q *bisectFlags) candidates(ctx context.Context, p *plans.Plan, folder string) ([]bisect.Candidate, error) {
	if err := arms.HasBaseline(p); err != nil {
		return nil, err
	}
	switch {
	case q.images != "" && q.source != "":
		return nil, errors.New("--images is a list of candidates: remove --repo")
	case q.images != "":
		return bisect.Images(q.images, q.good, q.bad)
	case q.good == "" || q.bad == "":
		return nil, errors.New("name both ends: --good v0.26.0 --bad v0.29.0, or list images: --images nightlies.txt")
	case isFile(q.good) && isFile(q.bad): // of pins
		if _, err := arms.PinnedBy(p, q.source); err != nil {
			return nil, err
		}
		if err := arms.Folder(folder); err != nil {
			return nil, err
		}
		return bisect.Pins(q.good, q.bad, filepath.Join(folder, "pins"))
	}
	return bisect.Commits(ctx, p, q.source, q.good, q.bad)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ask prints the question and what it takes.
func (q *bisectFlags) ask(a *app, show *view.Bisect, loaded *load.Result, g *runtime.Graph) error {
	j := show.Job
	st, err := store.OpenReadOnly(j.State)
	if err != nil {
		st = nil
	} else {
		defer st.Close()
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: loaded.Plan, Graph: g, Reuse: q.reuse})
	if err != nil {
		return err
	}
	_, target, err := apply.Named(g, nil, j.Target(j.Bad()))
	if err != nil {
		return err
	}
	// What is on record is left out: the count is of a whole search.
	runner := &runtime.Runner{
		Plan: loaded.Plan, Graph: g, Journal: runtime.EmptyJournal{}, Step: lab.Step,
		Target: target, Force: context.Background(),
	}
	states, err := runner.Reconcile()
	if err != nil {
		return err
	}
	show.Ask(apply.EstimateOf(loaded.Plan, apply.LaunchHistoryOf(st), states))
	return nil
}

// errorsOnly reports what is wrong with a plan, and no warnings: they were shown.
func (a *app) errorsOnly(res *lang.Findings) {
	if !res.OK() {
		a.reportStreamed(res)
	}
}
