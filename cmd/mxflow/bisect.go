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
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/questions/arms"
	"github.com/mxflow/mxflow/steps/questions/bisect"
)

// bisectOptions are the command line of mxflow bisect.
type bisectOptions struct {
	*app
	plan, good, bad, images, source, rule string
	given                                 load.Options
	rerun, reuse, dryRun                  bool
	// streams is set if the stream of --json has begun.
	streams bool
}

func newBisectCommand(a *app) *cobra.Command {
	o := &bisectOptions{app: a}
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
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&o.good, "good", "", "commit, image or file of pins, `A`, that is as it should be")
	f.StringVar(&o.bad, "bad", "", "`B` after it that is not")
	f.StringVar(&o.images, "images", "", "`FILE` of images, one on each line, from good to bad")
	f.StringVar(&o.source, "repo", "", repoUsage)
	f.StringVar(&o.rule, "rule", "", "`RULE` that bad breaks (default: its decode speed is at most 3% lower)")
	varFlag(f, &o.given.Inputs)
	f.BoolVar(&o.rerun, "rerun", false, "measure everything again")
	reuseFlag(f, &o.reuse)
	f.BoolVar(&o.dryRun, "dry-run", false, dryRunUsage)
	a.jsonFlag(f)
	c.MarkFlagsMutuallyExclusive("dry-run", "json")
	return c
}

func (o *bisectOptions) run(ctx context.Context, args []string) (err error) {
	o.fold()
	if o.plan, err = o.planOf(args); err != nil {
		return err
	}
	_, _, err = o.find(ctx)
	return err
}

// find searches and shows the answer, which is nil after an interruption or a dry run.
func (o *bisectOptions) find(ctx context.Context) (*bisect.Answer, *bisect.Job, error) {
	top := filepath.Join(lang.FolderOf(o.plan), ".mxflow-bisect")
	j, folder, err := o.job(ctx, top)
	if err != nil {
		return nil, nil, err
	}
	asked, graph, err := o.question(j)
	if err != nil {
		return nil, nil, err
	}
	show := &view.Bisect{Job: j, Screen: o.screen, File: filepath.Join(folder, "bisect.md")}
	if o.json {
		show.JSON = o.printLine
	} else if err := o.ask(show, asked, graph); err != nil {
		return nil, nil, err
	}
	if o.dryRun {
		return nil, j, nil
	}
	if err := os.MkdirAll(j.State, 0o755); err != nil {
		return nil, nil, err
	}
	if o.state == "" {
		if err := arms.Folder(top); err != nil {
			return nil, nil, err
		}
	}
	if !o.streams {
		beginStream(o.app)
	}
	a, err := o.search(ctx, j, show)
	return a, j, err
}

// command is the command line that goes on with the search.
func (o *bisectOptions) command() string {
	words := []string{"mxflow", "bisect", o.plan, "--rule", o.rule}
	if o.images != "" {
		words = append(words, "--images", o.images)
	} else {
		words = append(words, "--good", o.good, "--bad", o.bad)
	}
	return shell.Line(words...)
}

// job is the search that the flags ask for, and the folder of its report.
func (o *bisectOptions) job(ctx context.Context, top string) (j *bisect.Job, folder string, err error) {
	loaded, _, err := o.load(o.plan, o.given)
	if err != nil {
		return nil, "", err
	}
	list, err := o.candidates(ctx, loaded.Plan, top)
	if err != nil {
		return nil, "", err
	}
	if cells := loaded.Plan.SentCells(); o.rule == "" && len(cells) != 1 {
		return nil, "", fmt.Errorf("say what bad breaks, as the plan sends %d loads: --rule '%s.tg.gain >= -3%%'",
			len(cells), append(cells, "WORKLOAD")[0])
	} else if o.rule == "" {
		o.rule = cells[0] + ".tg.gain >= -3%"
	}
	folder, state := o.state, o.state
	if first, last := list[0], list[len(list)-1]; state == "" {
		folder = filepath.Join(top, runtime.Digest(filepath.Base(o.plan), o.source, o.rule, first.Arm, last.Arm)[:8])
		state = filepath.Join(folder, store.DirName)
	}
	return &bisect.Job{
		Plan: loaded.Plan, Candidates: list, Source: o.source, Rule: o.rule, State: state, Rerun: o.rerun,
	}, folder, nil
}

// question is the plan with the first question of a search.
func (o *bisectOptions) question(j *bisect.Job) (*load.Result, *runtime.Graph, error) {
	first, err := j.First()
	if err != nil {
		return nil, nil, err
	}
	var wrong error
	asked, graph, err := o.loadReporting(o.plan, load.Options{Inputs: o.given.Inputs, Question: first},
		func(res *lang.Findings) {
			for _, d := range res.Diagnostics { // of the question, as the plan itself has no errors
				if d.Severity == hcl.DiagError {
					wrong = cmp.Or(wrong, fmt.Errorf("--rule %q: %s", o.rule, d.Detail))
				}
			}
		})
	if err = cmp.Or(wrong, err); err == nil {
		err = j.Check(asked)
	}
	return asked, graph, err
}

// search searches, and shows what it found.
func (o *bisectOptions) search(ctx context.Context, j *bisect.Job, show *view.Bisect) (*bisect.Answer, error) {
	ended := 0
	j.Observe = show.Finding
	j.Apply = func(ctx context.Context, question, feature string, target []string) error {
		run := applying{
			path: o.plan, dir: j.State, given: load.Options{Inputs: o.given.Inputs, Question: question},
			target: target, reuse: o.reuse,
			watch: show.Watch(newProgress(o.app, true)), tell: o.errorsOnly,
		}
		if o.rerun {
			run.rerun = []string{feature}
		}
		_, err := applyPlan(ctx, o.app, run)
		ended = o.exit
		return err
	}
	answer, err := bisect.Search(ctx, len(j.Candidates), j)
	switch {
	case errors.Is(err, bisect.ErrStopped):
		o.exit = verdict.ExitInterrupted
		fmt.Fprintln(o.stderr, "interrupted: the same command resumes")
		return nil, nil
	case err != nil && ended != 0:
		return nil, o.fail(max(ended, verdict.ExitBroken), err)
	case err != nil:
		return nil, err
	}
	switch bad := answer.Findings[j.Bad()]; {
	case answer.Outcome == bisect.Found:
		o.exit = verdict.ExitPass
	case answer.Outcome == bisect.Same:
		o.exit = verdict.ExitFail
	case answer.Outcome == bisect.Open && bad.State == bisect.Skipped:
		o.exit = verdict.ExitBroken
	default:
		o.exit = verdict.ExitInconclusive
	}
	return answer, show.End(ctx, answer, o.exit)
}

// candidates are what is searched, by the flags.
func (o *bisectOptions) candidates(ctx context.Context, p *plans.Plan, folder string) ([]bisect.Candidate, error) {
	if err := arms.HasBaseline(p); err != nil {
		return nil, err
	}
	switch {
	case o.images != "" && o.source != "":
		return nil, errors.New("--images is a list of candidates: remove --repo")
	case o.images != "":
		return bisect.Images(o.images, o.good, o.bad)
	case o.good == "" || o.bad == "":
		return nil, errors.New("name both ends: --good v0.26.0 --bad v0.29.0, or list images: --images nightlies.txt")
	case isFile(o.good) && isFile(o.bad): // of pins
		if _, err := arms.PinnedBy(p, o.source); err != nil {
			return nil, err
		}
		if err := arms.Folder(folder); err != nil {
			return nil, err
		}
		return bisect.Pins(o.good, o.bad, filepath.Join(folder, "pins"))
	}
	return bisect.Commits(ctx, p, o.source, o.good, o.bad)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ask prints the question and what it takes.
func (o *bisectOptions) ask(show *view.Bisect, loaded *load.Result, g *runtime.Graph) error {
	j := show.Job
	st, err := store.OpenReadOnly(j.State)
	if err != nil {
		st = nil
	} else {
		defer st.Close()
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: loaded.Plan, Graph: g, Reuse: o.reuse})
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
