package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
)

// stateName is the state directory beside a plan.
const stateName = ".mxflow"

// load loads a plan and its graph. Diagnostics are printed; errShown then says
// that nothing was started.
func (a *app) load(path string, given []load.Given, suite string) (*plans.Plan, *runtime.Graph, *load.Result, error) {
	return a.loadWith(path, load.Options{Inputs: given, Suite: suite})
}

func (a *app) loadWith(path string, opts load.Options) (*plans.Plan, *runtime.Graph, *load.Result, error) {
	return a.loadReporting(path, opts, a.report)
}

// loadReporting is loadWith where what is wrong with a plan is not printed as usual.
func (a *app) loadReporting(path string, opts load.Options, report func(*lang.Findings)) (*plans.Plan, *runtime.Graph, *load.Result, error) {
	if err := checkGiven(opts.Inputs); err != nil {
		return nil, nil, nil, err
	}
	opts.Guard = a.guard()
	res := load.Path(path, steps.Registry(), opts)
	a.hide(res.Plan.Secrets())
	if len(res.Diagnostics) > 0 {
		report(&res.Findings)
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

// report prints what is wrong with a plan: as text or as one JSON document.
func (a *app) report(res *lang.Findings) {
	if a.json && !res.OK() {
		a.printJSON(map[string]any{"valid": false, "diagnostics": res.DiagnosticsJSON()})
		return
	}
	a.diagnostics(res)
}

// reportStreamed prints it as text or, in a stream of events, as a line each.
func (a *app) reportStreamed(res *lang.Findings) {
	if !a.json {
		a.diagnostics(res)
		return
	}
	for _, d := range res.DiagnosticsJSON() {
		a.printLine(map[string]any{"type": "diagnostic", "time": time.Now().UTC(), "diagnostic": d})
	}
}

func (a *app) diagnostics(res *lang.Findings) {
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
	if data, err := tell.JSON(a.secrets.Any(v, apply.Identities...)); err == nil {
		fmt.Fprintf(bare(a.stdout), "%s\n", data)
	}
}

func (a *app) printJSON(v any) {
	data, err := tell.JSON(a.secrets.Any(v, apply.Identities...))
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

// fail sets the exit status for an error that is not a mistake in the usage.
func (a *app) fail(code int, err error) error {
	if err != nil {
		a.exit = code
	}
	return err
}

// givenFlag collects --var and --var-file in the order of the command line, the
// last one of a variable wins.
type givenFlag struct {
	into *[]load.Given
	file bool
}

func (g *givenFlag) String() string { return "" }

func (g *givenFlag) Type() string {
	if g.file {
		return "file"
	}
	return "name=value"
}

func (g *givenFlag) Set(text string) error {
	if g.file {
		*g.into = append(*g.into, load.Given{File: text})
		return nil
	}
	*g.into = append(*g.into, load.Given{Var: text})
	return nil
}

// checkGiven refuses a --var without a name or a value.
func checkGiven(given []load.Given) error {
	for _, g := range given {
		if name, _, ok := strings.Cut(g.Var, "="); g.File == "" && (!ok || name == "") {
			return fmt.Errorf("--var %s: write name=value", g.Var)
		}
	}
	return nil
}

// varFlag gives a subcommand --var name=value and --var-file, as often as needed.
func varFlag(c *cobra.Command, into *[]load.Given) {
	c.Flags().Var(&givenFlag{into: into}, "var", "set a variable of the plan (repeatable)")
	c.Flags().Var(&givenFlag{into: into, file: true}, "var-file", "set variables from a file of lines name = value (repeatable)")
}

// suiteFlag gives a subcommand --suite name.
func suiteFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "suite", "", "send the workloads of this suite in place of those that benchmarks name")
}

// hide keeps a plan's secrets out of everything that is printed from now on.
func (a *app) hide(secrets []string) {
	if a.secrets = redact.New(secrets); !a.secrets.Active() {
		return
	}
	a.stdout, a.stderr = hiding{a.stdout, a.secrets}, hiding{a.stderr, a.secrets}
}

// hiding is a writer that takes secrets out of what is written at once. It is
// the last net: what is structured is cleaned before it becomes text.
type hiding struct {
	io.Writer
	secrets *redact.Redactor
}

func (h hiding) Write(p []byte) (int, error) {
	if _, err := h.Writer.Write(h.secrets.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// bare is what a writer writes to in the end.
func bare(w io.Writer) io.Writer {
	for {
		h, ok := w.(hiding)
		if !ok {
			return w
		}
		w = h.Writer
	}
}

// snake is a value as JSON shows it with the names of plans: fields of structs
// in snake_case, those left empty left out, durations as text.
func snake(v any) any { return snakeValue(reflect.ValueOf(v)) }

func snakeValue(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return snakeValue(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				out[snakeName(f.Name)] = snakeValue(v.Field(i))
			}
		}
		return out
	case reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, snakeValue(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = snakeValue(it.Value())
		}
		return out
	}
	return v.Interface()
}

// snakeName is ShmSize as shm_size, IgnoreEOS as ignore_eos and JQ as jq.
func snakeName(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		upper := unicode.IsUpper(r)
		begins := i > 0 && upper && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
