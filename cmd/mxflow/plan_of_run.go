package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/replay"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/questions/reproduce"
)

// planNow is the plan of the newest run as its files are now, with the variables and the
// environment that the run recorded.
type planNow struct {
	// File is where it was looked for.
	File string `json:"file"`
	// State is "as applied", "changed" or "missing"; empty if unknown, as without values
	// that are not on record because they may be secret.
	State string `json:"state,omitempty"`
	run   string
	// plan is nil if it cannot be loaded.
	plan *plans.Plan
	kept *replay.Replay
}

const (
	asApplied = "as applied"
	changed   = "changed"
	missing   = "missing"
)

// comparePlan compares the plan with what the newest run applied.
func (a *app) comparePlan(st *store.Store, args []string) planNow {
	view, err := st.Run("latest")
	if err != nil || view.Start == nil {
		return planNow{}
	}
	now := planNow{run: view.ID, kept: replay.New(st, steps.Registry(), nil)}
	if now.File, err = a.planOf(args); err != nil {
		now.File = view.PlanFile
	}
	if lang.IsFolder(now.File) && lang.IsSource(view.PlanFile) {
		now.File = filepath.Join(now.File, filepath.Base(view.PlanFile))
	}
	if _, err := os.Stat(now.File); errors.Is(err, fs.ErrNotExist) {
		if len(args) > 0 || a.state == "" { // else the path may be relative to another folder
			now.State = missing
		}
		return now
	}
	as := now.kept.RecordedInputs(now.run)
	res := a.loadSilently(now.File, load.Options{As: as})
	if res.OK() {
		now.plan = res.Plan
	}
	switch {
	case res.OK() && res.Plan.Digest() == view.Start.PlanDigest:
		now.State = asApplied
	case res.OK() && len(now.kept.ChangedInputs(now.run, res)) > 0, !res.OK() && len(as.Sealed) > 0:
	default:
		now.State = changed
	}
	return now
}

// says is what a reader of the decisions must know about the plan; empty if it is
// unchanged, as far as is known.
func (p planNow) says(on table.Screen) string {
	switch p.State {
	case changed:
		return p.File + " is not what run " + p.run + " applied. What an apply would do: " + on.Command("plan")
	case missing:
		return p.File + ", which run " + p.run + " applied, is gone"
	}
	return ""
}

// planOfRun is the plan of the newest run: its files as they are now if they still give
// what was applied, as people write notes into them, else the text that the run kept.
func (a *app) planOfRun(st *store.Store, args []string) (*plans.Plan, planNow, error) {
	now := a.comparePlan(st, args)
	switch {
	case now.State == asApplied && apply.SamePlan(st, now.plan) == nil:
		return now.plan, now, nil
	case now.kept == nil:
		return nil, now, fmt.Errorf("nothing was applied here: %w", store.ErrApplyFirst)
	}
	p, why := now.kept.Plan(now.run)
	if !why.IsZero() {
		return nil, now, errors.New(why.String())
	}
	a.hide(p.Secrets())
	return p, now, nil
}

// summary is what came of the plan of a state directory. Its tables have the columns of the plan, if
// that can be read.
func (a *app) summary(st *store.Store, args []string) *report.Summary {
	p, _, _ := a.planOfRun(st, args)
	return a.reproduced(report.SummaryOf(st, p, time.Now()))
}

// reproduced is a summary with what came of the record that it reproduces.
func (a *app) reproduced(s *report.Summary) *report.Summary {
	var err error
	if s.Reproduction, err = reproduce.Of(s.Store); err != nil {
		a.note(verdict.OfError(err))
	}
	return s
}

// recordIfAny opens the state directory of a plan; nil if nothing was applied.
func (a *app) recordIfAny(plan string) (*store.Store, error) {
	st, err := store.OpenReadOnly(a.stateDir(plan))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ledgerGone(a.stateDir(plan))
	}
	return st, err
}
