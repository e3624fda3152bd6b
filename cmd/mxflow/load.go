package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/endpoint"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/process"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// stateName is the state directory beside a plan.
const stateName = ".mxflow"

// load loads a plan and its graph. Diagnostics are printed; errShown then says
// that nothing was started.
func (a *app) load(path string, given []load.Given, suite string) (*plans.Plan, *runtime.Graph, *load.Result, error) {
	return a.loadWith(path, load.Options{Inputs: given, Suite: suite})
}

func (a *app) loadWith(path string, opts load.Options) (*plans.Plan, *runtime.Graph, *load.Result, error) {
	if err := checkGiven(opts.Inputs); err != nil {
		return nil, nil, nil, err
	}
	opts.Guard = planGuard(a.stderr)
	res := load.Load(path, steps.Registry(), opts)
	a.hide(res.Plan.Secrets())
	if len(res.Diagnostics) > 0 && !(a.generated && res.OK()) {
		a.diagnostics(&res.Findings)
	}
	if !res.OK() {
		return nil, nil, nil, errShown
	}
	g, err := runtime.NewGraph(res.Plan)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return res.Plan, g, res, nil
}

// diagnostics prints what is wrong with a plan: as text, as one JSON document,
// or, in a stream of events, as a line each.
func (a *app) diagnostics(res *lang.Findings) {
	switch {
	case a.json && a.streaming:
		for _, d := range res.DiagnosticsJSON() {
			a.printLine(map[string]any{"type": "diagnostic", "time": time.Now().UTC(), "diagnostic": d})
		}
		return
	case a.json && !res.OK():
		a.printJSON(map[string]any{"valid": false, "diagnostics": res.DiagnosticsJSON()})
		return
	}
	if err := res.WriteDiagnostics(a.stderr, a.width(), colours(a.stderr)); err != nil {
		fmt.Fprintln(a.stderr, res.Diagnostics.Error())
	}
	if len(res.Diagnostics) > 0 && res.OK() {
		fmt.Fprintln(a.stderr) // what follows warnings is something else
	}
	if n := len(res.Diagnostics.Errs()); !res.OK() {
		fmt.Fprintf(a.stderr, "\n%s. Nothing was started.\n", count(n, "error"))
	}
}

// count is a number of things: "1 error", "3 launches", "2 processes".
func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"), strings.HasSuffix(what, "ch"), strings.HasSuffix(what, "sh"):
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printLine prints one JSON object on a line of its own.
func (a *app) printLine(v any) {
	if data, err := tell.JSON(a.secrets.Any(v, identities...)); err == nil {
		fmt.Fprintf(bare(a.stdout), "%s\n", data)
	}
}

func (a *app) printJSON(v any) {
	data, err := tell.JSON(a.secrets.Any(v, identities...))
	if err != nil {
		return
	}
	var page bytes.Buffer
	if json.Indent(&page, data, "", "  ") == nil {
		// Writing to a closed pipe is the reader's choice, not an error of ours.
		fmt.Fprintln(bare(a.stdout), page.String())
	}
}

// stateDir is the state directory of a plan.
func (a *app) stateDir(plan string) string {
	if a.state != "" {
		return a.state
	}
	return filepath.Join(planDir(plan), stateName)
}

// planDir is the folder of a plan, which may be a folder itself.
func planDir(plan string) string {
	if info, err := os.Stat(plan); err == nil && info.IsDir() {
		return plan
	}
	return filepath.Dir(plan)
}

// reader opens the state directory for a subcommand that only reads. Without a
// plan it is the one in the current folder.
func (a *app) reader(args []string) (*store.Store, error) {
	dir := a.state
	if dir == "" {
		base := "."
		if len(args) > 0 {
			if _, err := os.Stat(args[0]); err != nil {
				return nil, fmt.Errorf("there is no %s: check the path and the folder you are in", args[0])
			}
			base = planDir(args[0])
		}
		dir = filepath.Join(base, stateName)
	}
	s, err := store.OpenReadOnly(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if err := ledgerGone(dir); err != nil {
		return nil, a.fail(verdict.ExitFail, err)
	}
	return nil, a.neverApplied(dir, args)
}

// neverApplied is the error of a state directory without a ledger. What to do is not
// what was done already.
func (a *app) neverApplied(dir string, args []string) error {
	what := "Name the plan, or the directory with --state"
	switch {
	case a.state != "":
		what = "Check what --state names, or apply the plan with it first"
	case len(args) > 0:
		what = fmt.Sprintf("Run mxflow apply %s first, or name the directory that it was applied with: --state", args[0])
	}
	return fmt.Errorf("nothing was applied here: there is no ledger in %s. %s", dir, what)
}

// errLedgerGone is a state directory without the ledger that it once had, which is
// not one where nothing was applied.
var errLedgerGone = errors.New("its checkpoint says that there was one; restore it from a copy, or begin a new state directory")

func ledgerGone(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "ledger.checkpoint")); err != nil {
		return nil
	}
	return fmt.Errorf("the ledger of %s is gone: %w", dir, errLedgerGone)
}

// lab wires steps to a state directory.
func (a *app) lab(p *plans.Plan, g *runtime.Graph, s *store.Store, owner, runDir string) (*steps.Lab, error) {
	fetched := &docker.FetchMemo{}
	lab := &steps.Lab{
		Plan: p, Graph: g, Store: s, Launcher: engine.Launchers{Process: process.Launcher{}, Docker: a.dockerLauncher(s, fetched), Compose: a.composeLauncher(s, fetched), Exec: a.execLauncher(s), Endpoint: endpoint.Launcher{}}, Owner: owner, RunDir: runDir,
		MachineKey: steps.MachineKey(machine.Environment(), p), Boot: machine.BootID(),
		KindVersions: map[string]string{"embedded": embedded.Version},
	}
	return lab, a.keepSecrets(lab, p, s)
}

// fail sets the exit status for an error that is not a mistake in the usage.
func (a *app) fail(code int, err error) error {
	if err != nil {
		a.exit = code
	}
	return err
}
