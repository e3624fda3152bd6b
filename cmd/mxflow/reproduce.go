package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/questions/arms"
	"github.com/mxflow/mxflow/steps/questions/reproduce"
)

// reproduceOptions are the command line of mxflow reproduce.
type reproduceOptions struct {
	*app
	key           string
	vars          []load.Given
	accept        []string
	rerun, dryRun bool
}

func newReproduceCommand(a *app) *cobra.Command {
	o := &reproduceOptions{app: a}
	c := &cobra.Command{
		Use:   "reproduce FILE [PLAN]",
		Short: "Make the decisions of an exported record again, here",
		Long: `Verifies an output of mxflow audit export, with or without --lock, says what
differs here and what cannot be had, and decides its features and gates again in
fresh launches: the same arms, workloads and rules. PLAN is the plan where its
sources and models are (default: as recorded, in a folder of its own).

Ends with reproduced (the same verdicts, and no effect differs by more than
launches explain), not reproduced, other conditions (what differs is listed, and
both results), or undecided. --accept names what may differ, as listed.

Everything is recorded in .mxflow-reproduce: the same command line resumes after
Ctrl-C or a kill. --json streams events, one object per line; the last is the
result.

Exit status: 0 reproduced, 1 refused before anything started (the file does not
verify, or something cannot be had), 2 not reproduced, 3 other conditions or
undecided, 4 the engine failed or could not be started, or mxflow failed,
130 interrupted.`,
		Example: `  mxflow reproduce port.tar
  mxflow reproduce --key kim.pub --dry-run port.tar
  mxflow reproduce port.lock src/plan.hcl --accept driver,kernel`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	f := c.Flags()
	keyFlag(f, &o.key)
	varFlag(f, &o.vars)
	f.StringSliceVar(&o.accept, "accept", nil, acceptUsage)
	f.BoolVar(&o.rerun, "rerun", false, "measure everything again")
	f.BoolVar(&o.dryRun, "dry-run", false, dryRunUsage)
	a.jsonFlag(f)
	return c
}

func (o *reproduceOptions) run(ctx context.Context, args []string) error {
	err := o.whole(func(args []string) (*store.Store, error) { return store.OpenArchive(args[0]) }, args[:1], o.key,
		func(st *store.Store, checked ledger.Report, signer string) error {
			if _, bad := audit.Artifacts(st); len(bad) > 0 {
				return errors.New(strings.Join(bad, "\n"))
			}
			return o.job(ctx, st, checked, signer, args[1:])
		})
	if err != nil && o.exit == verdict.ExitFail {
		o.exit = verdict.ExitUsage // what does not verify says nothing about the result
	}
	return err
}

func (o *reproduceOptions) job(ctx context.Context, st *store.Store, checked ledger.Report, signer string,
	plan []string,
) error {
	j, err := reproduce.New(st, checked, signer)
	if err != nil {
		return err
	}
	const own = ".mxflow-reproduce"
	folder := filepath.Join(own, j.Of.Name())
	run := applying{
		dir: filepath.Join(folder, store.DirName), given: load.Options{As: j.Inputs(), Anew: o.vars},
		target: j.Nodes(), tell: o.errorsOnly, reproduces: &j.Of, lock: j.Lock,
	}
	if o.state != "" {
		folder, run.dir = o.state, o.state
	} else if err := arms.Folder(own); err != nil {
		return err
	}
	if len(plan) > 0 {
		run.path = plan[0]
	} else if run.path, err = j.Unpack(filepath.Join(folder, "plan")); err != nil {
		return err
	}
	missing, err := o.ahead(ctx, j, run)
	if err != nil || o.dryRun && len(missing) == 0 {
		return err
	}
	if len(missing) > 0 {
		return errors.New("it cannot be reproduced here:\n  " + strings.Join(missing, "\n  "))
	}
	if o.rerun {
		run.rerun = []string{"all"}
	}
	return o.apply(ctx, run)
}

// ahead shows what is asked and what differs, and returns what cannot be had here.
func (o *reproduceOptions) ahead(ctx context.Context, j *reproduce.Job, run applying) (missing []string, err error) {
	loaded, g, err := o.loadReporting(run.path, run.given, o.errorsOnly)
	if err != nil {
		return nil, err
	}
	p := loaded.Plan
	if err := j.SameQuestion(p); err != nil {
		return nil, err
	}
	j.Of.Settings, j.Of.Accept = p.Differences(j.Plan), slices.Clone(o.accept)
	if p.Baseline != nil {
		j.Of.Accept = append(j.Of.Accept, p.Baseline.AcceptFingerprint...)
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g})
	if err != nil {
		return nil, err
	}
	differs, missing := j.Ahead(ctx, lab, p, tool)
	if o.json {
		beginStream(o.app)
		o.printLine(map[string]any{"type": "reproduces", "of": j.Of, "differs": differs, "missing": missing})
	} else {
		view.Reproduces(o.screen(), j, differs, o.accept)
	}
	return missing, nil
}

// apply makes the decisions again, and shows what came of it.
func (o *reproduceOptions) apply(ctx context.Context, run applying) error {
	run.watch = newProgress(o.app, false)
	res, err := applyPlan(ctx, o.app, run)
	switch {
	case res == nil || err != nil:
		return err
	case res.Exit == verdict.ExitInterrupted:
		fmt.Fprintln(o.stderr, map[bool]string{
			false: "interrupted: the same command resumes", true: "interrupted: the same command begins again",
		}[o.rerun])
		return nil
	}
	st, err := store.OpenReadOnly(run.dir)
	if err != nil {
		return o.fail(verdict.ExitBroken, err)
	}
	defer st.Close()
	r, err := reproduce.Of(st)
	if err != nil {
		return o.fail(verdict.ExitBroken, err)
	}
	if o.exit = r.Outcome.ExitCode(); r.Outcome == decide.Undecided && res.Exit == verdict.ExitBroken {
		o.exit = verdict.ExitBroken
	}
	if o.json {
		o.printLine(struct {
			Type string `json:"type"`
			*decide.Reproduction
			Run  string `json:"run"`
			Exit int    `json:"exit"`
		}{"reproduction", r, res.Run, o.exit})
		return nil
	}
	view.Reproduction(o.screen(), r, run.dir, verdict.Rough(res.Took.Seconds()), o.exit)
	return nil
}
