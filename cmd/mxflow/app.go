package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// app is the state shared by all subcommands.
type app struct {
	prints
	// state is the --state flag: the state directory, empty for .mxflow beside
	// the plan.
	state string
	// running is the command at work.
	running *cobra.Command
	// inputs are what the newest run of the record that is read was given, as words of a command line.
	inputs []string
	// exit is the status that the subcommand decided on.
	exit int
}

// errShown is an error that was already printed: run only sets the exit status.
var errShown = errors.New("already shown")

// load loads a plan and its graph. Diagnostics are printed; errShown then means that
// nothing was started.
func (a *app) load(path string, opts load.Options) (*load.Result, *runtime.Graph, error) {
	return a.loadReporting(path, opts, a.report)
}

// loadReporting is load with another way to report what is wrong with a plan.
func (a *app) loadReporting(path string, opts load.Options, report func(*lang.Findings)) (*load.Result,
	*runtime.Graph, error,
) {
	res := a.loadSilently(path, opts)
	if len(res.Diagnostics) > 0 {
		report(&res.Findings)
	}
	if !res.OK() {
		return nil, nil, errShown
	}
	g, err := runtime.NewGraph(res.Plan)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return res, g, nil
}

// loadSilently leaves a plan's diagnostics to the caller.
func (a *app) loadSilently(path string, opts load.Options) *load.Result {
	res := load.Path(path, steps.Registry(), opts)
	a.hide(res.Plan.Secrets())
	return res
}

// stateDir is the state directory of a plan.
func (a *app) stateDir(plan string) string {
	if a.state != "" {
		return a.state
	}
	return filepath.Join(lang.FolderOf(plan), store.DirName)
}

// planOf is the plan that a command is about: the one that it names, or else this
// folder's, which is what the newest run here applied, or the only one there is.
func (a *app) planOf(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	if st, err := store.OpenReadOnly(a.stateDir("plan.hcl")); err == nil {
		runs := st.Runs()
		st.Close()
		if len(runs) > 0 {
			path := runs[len(runs)-1].PlanFile
			switch {
			case a.state != "":
				return path, nil
			case lang.IsSource(path):
				return filepath.Base(path), nil
			}
			return ".", nil
		}
	}
	var found []string
	entries, err := os.ReadDir(".")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && lang.IsSource(e.Name()) && definesPlan(e.Name()) {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", errors.New("no plan given, and none in this folder: give its file, or create one with mxflow init")
	}
	return "",
		fmt.Errorf("no plan is named and this folder has several (%s): name one of them", strings.Join(found, ", "))
}

// planBlock identifies a file as a plan rather than a part of one.
var planBlock = regexp.MustCompile(`(?m)^(plan\s+"|plan:)`)

func definesPlan(path string) bool {
	text, err := files.ReadBounded(path)
	return err == nil && planBlock.Match(text)
}

// reader opens the state directory for a subcommand that only reads. Without a plan it is
// the one in the current folder.
func (a *app) reader(args []string) (*store.Store, error) {
	dir, err := a.stateOf(args)
	if err != nil {
		return nil, err
	}
	s, err := store.OpenReadOnly(dir)
	if err == nil {
		if run, err := s.Run("latest"); err == nil {
			a.inputs = report.Inputs(run)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if err := ledgerGone(dir); err != nil {
		return nil, a.fail(verdict.ExitFail, err)
	}
	what := "Name the directory that it was applied with (--state), or"
	switch {
	case a.state != "":
		what = "Check the path in --state, or"
	case len(args) == 0:
		return nil,
			fmt.Errorf("nothing was applied here: %s has no ledger. Name the plan, or the directory with --state", dir)
	}
	return nil, fmt.Errorf("nothing was applied here: %s has no ledger. %s %w", dir, what, store.ErrApplyFirst)
}

// stateOf is the state directory of a plan, which need not exist.
func (a *app) stateOf(args []string) (string, error) {
	base := "."
	switch {
	case a.state != "":
		return a.state, nil
	case len(args) > 0:
		if _, err := os.Stat(args[0]); err != nil {
			return "", fmt.Errorf("%s does not exist: check the path and the current folder", args[0])
		}
		base = lang.FolderOf(args[0])
	}
	return filepath.Join(base, store.DirName), nil
}

// errLedgerGone is the error for a state directory that lost its ledger, unlike one where
// nothing was applied.
var errLedgerGone = errors.New(
	"its checkpoint shows that there was one; restore it from a copy, or start a new state directory")

func ledgerGone(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "ledger.checkpoint")); err != nil {
		return nil
	}
	return fmt.Errorf("the ledger of %s is gone: %w", dir, errLedgerGone)
}

// fail sets the exit status for an error that is not a usage mistake.
func (a *app) fail(code int, err error) error {
	if err != nil {
		a.exit = code
	}
	return err
}
