package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/process"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/variant"
	"github.com/spf13/cobra"
)

func (a *app) applyCommand() *cobra.Command {
	var vars []load.Given
	var rerun []string
	var suite string
	c := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Start the engine, measure, decide rules, unlock phases",
		Long: `Runs a plan to its end. What was decided before and is unchanged is kept: killed
or interrupted, apply again goes on where it stopped. Changed thresholds are
decided again from recorded launches, without measuring.

The first Ctrl-C stops the engine in order and records the interruption; the
second stops at once. Everything is kept in .mxflow beside the plan.

Exit status: 0 every gate passed, 1 usage, plan or environment error, 2 a gate
failed or is invalid, 3 inconclusive, 4 the engine or mxflow broke, 130
interrupted.`,
		Example: "  mxflow apply plan.hcl\n  mxflow apply --var threads=2 plan.hcl\n  mxflow apply --suite quick plan.hcl\n  mxflow apply --rerun phase.cutlass plan.hcl\n  mxflow apply --json plan.hcl > events.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.apply(c.Context(), args[0], vars, suite, rerun)
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	c.Flags().StringArrayVar(&rerun, "rerun", nil, "measure again: a phase, a feature, a node's address, or all (repeatable)")
	a.jsonFlag(c, "stream events as JSON, one object a line")
	return c
}

func (a *app) apply(ctx context.Context, path string, vars []load.Given, suite string, rerun []string) error {
	if a.streaming = true; a.json {
		a.printLine(runtime.Event{Type: "version", Time: time.Now().UTC(), Stream: streamVersion, Tool: "mxflow " + version})
	}
	p, g, loaded, err := a.load(path, vars, suite)
	if err != nil {
		return err
	}
	forced, unknown := runtime.RerunNodes(g, rerun)
	if len(unknown) > 0 {
		return fmt.Errorf("--rerun %s: there is no such phase, feature or node; see mxflow graph %s", unknown[0], path)
	}
	dir := a.stateDir(path)
	lock, err := store.Lock(dir)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	st, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer st.Close()
	for _, n := range st.Notices() {
		fmt.Fprintln(a.stderr, "note:", n)
	}
	if err := samePlan(st, p); err != nil {
		return err
	}
	a.machineNotes(st, p)
	return a.run(ctx, path, p, g, loaded, st, lock, forced)
}

// samePlan refuses the state directory of another plan: their nodes would have
// the same addresses, and each apply would throw away what the other decided.
func samePlan(st *store.Store, p *plans.Plan) error {
	runs := st.Runs()
	if len(runs) == 0 || runs[len(runs)-1].Plan == p.Name {
		return nil
	}
	return fmt.Errorf("the state directory %s belongs to plan %q and this is plan %q: give it one of its own with --state, or put it into another folder",
		st.Dir(), runs[len(runs)-1].Plan, p.Name)
}

// run is one apply on an open state directory.
func (a *app) run(ctx context.Context, path string, p *plans.Plan, g *runtime.Graph, loaded *load.Result, st *store.Store, lock *store.DirLock, forced func(*runtime.Node) bool) error {
	owner := ownerOf(st.Dir())
	if err := a.cleanUp(st, owner); err != nil {
		return err
	}
	run := runID(time.Now())
	runDir, err := st.RunDir(run)
	if err != nil {
		return err
	}
	lab, err := a.lab(p, g, st, owner, runDir)
	if err != nil {
		return err
	}
	sum, sums, err := a.putSources(st, loaded)
	if err != nil {
		return err
	}
	inputs, err := a.inputsOf(st, loaded)
	if err != nil {
		return err
	}
	if err := lock.Begin(run); err != nil {
		return err
	}
	err = st.Append(&ledger.Record{Type: "run", Time: time.Now().UTC(), Run: run, RunStart: &ledger.RunStart{
		Plan: p.Name, PlanFile: path, PlanDigest: p.Digest(), PlanSource: sum, PlanSources: sums, Tool: "mxflow " + version,
		Environment: machine.Environment(), BootID: machine.BootID(), Targets: steps.Targets(p), Hypotheses: steps.Hypotheses(p), Nodes: nodesOf(g), Inputs: inputs,
	}})
	if err != nil {
		return err
	}
	runner := &runtime.Runner{Plan: p, Graph: g, Journal: runtime.StoreJournal(st), Step: lab.Step, Rerun: forced, Run: run}
	soft, hard, release := signals(ctx, a.stderr)
	defer release()
	runner.Hard = hard
	preview, err := runner.Preview()
	if err != nil {
		return err
	}
	progress := a.newProgress(p, run, estimate(p, st, preview))
	runner.Observe = progress.event
	if a.reword != nil {
		runner.Observe = func(ev runtime.Event) { progress.event(a.reword(ev)) }
	}
	progress.begin()
	result, err := runner.Execute(soft)
	return a.finish(st, g, run, result, err, progress)
}

// finish records the end of a run and prints the table.
func (a *app) finish(st *store.Store, g *runtime.Graph, run string, result *runtime.Result, runErr error, progress progress) error {
	outcome := runtime.Summarise(g, result)
	end := &ledger.End{Verdict: outcome.Verdict, Exit: outcome.Verdict.ExitCode(), Reason: verdict.New(code.Finished), Locked: result.Locked}
	switch {
	case runErr != nil:
		end.Verdict, end.Exit, end.Reason = verdict.Error, verdict.ExitBroken, verdict.OfError(runErr)
	case result.Interrupted:
		end.Verdict, end.Exit, end.Reason = "", verdict.ExitInterrupted, verdict.New(code.Interrupted)
	}
	err := st.Append(&ledger.Record{Type: "end", Time: time.Now().UTC(), Run: run, End: end})
	progress.end(outcome, end)
	if a.ending != nil {
		a.ending(st, run, outcome, end)
	}
	a.exit = end.Exit
	if runErr != nil {
		return runErr
	}
	return a.fail(verdict.ExitBroken, err)
}

// nodesOf are the addresses of all nodes in the order of the graph.
func nodesOf(g *runtime.Graph) (ids []string) {
	for _, n := range g.Nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// runID sorts by time and is unique.
func runID(now time.Time) string {
	var b [3]byte
	if _, err := rand.Read(b[:]); err != nil {
		return now.UTC().Format("20060102T150405.000000")
	}
	return now.UTC().Format("20060102T150405-") + hex.EncodeToString(b[:])
}

// cleanUp stops what a killed apply left running, and closes its run in the
// ledger, so that an abandoned attempt is on record.
func (a *app) cleanUp(st *store.Store, owner string) error {
	swept, err := process.Sweep(owner)
	if err != nil {
		return fmt.Errorf("what an earlier apply left running cannot be stopped: %w", err)
	}
	for _, s := range swept {
		fmt.Fprintf(a.stderr, "note: stopped process %d, which an earlier apply left running (launch %s)\n", s.PID, s.Launch)
	}
	removed, err := a.cleanDaemons(daemonsOf(st), owner)
	if err != nil {
		return fmt.Errorf("what an earlier apply left in docker cannot be removed: %w", err)
	}
	for _, r := range st.Runs() {
		if r.Done {
			continue
		}
		if dir, err := st.RunDir(r.ID); err == nil {
			if err := a.cleanLogs(dir); err != nil {
				fmt.Fprintf(a.stderr, "note: logs of run %s may hold sensitive values: %v\n", r.ID, err)
			}
		}
		var left []verdict.Arg
		if len(swept) > 0 {
			left = append(left, verdict.Int("processes", len(swept)))
		}
		if removed > 0 {
			left = append(left, verdict.Int("containers", removed))
		}
		err := st.Append(&ledger.Record{Type: "end", Time: time.Now().UTC(), Run: r.ID, End: &ledger.End{Exit: -1, Reason: verdict.New(code.Abandoned, left...)}})
		if err != nil {
			return err
		}
	}
	return nil
}

// ownerOf marks everything started on behalf of a state directory.
func ownerOf(dir string) string {
	path := dir
	if abs, err := filepath.Abs(dir); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8])
}

// putSources keeps the text of a plan: its first file, and where there are
// several, each of them by its name. The results of other tools that its rules
// read, the prompts that its workloads send and what file() read are among these,
// so that whoever checks a run has what was decided by and what was sent. A file
// that a secret comes from is not.
func (a *app) putSources(st *store.Store, loaded *load.Result) (first string, all map[string]string, err error) {
	if first, err = st.Put(a.secrets.Bytes(loaded.Source)); err != nil {
		return "", nil, err
	}
	named, read := loaded.Plan.NamedFiles(), steps.FilesOf(loaded)
	if len(loaded.Sources)+len(named)+len(read) < 2 {
		return first, nil, nil
	}
	all = map[string]string{}
	for name, text := range loaded.Sources {
		if all[filepath.ToSlash(name)], err = st.Put(a.secrets.Bytes(text)); err != nil {
			return "", nil, err
		}
	}
	for name, text := range read {
		if all[name], err = st.Put(a.secrets.Bytes([]byte(text))); err != nil {
			return "", nil, err
		}
	}
	for _, f := range named {
		if all[f.Name], err = a.putNamed(st, f); err != nil {
			return "", nil, err
		}
	}
	return first, all, nil
}

// inputsOf is what a run records of what its plan was compiled with.
func (a *app) inputsOf(st *store.Store, loaded *load.Result) (*ledger.Inputs, error) {
	var key []byte
	return steps.InputsOf(loaded, func(text string) (mark string, err error) {
		if key == nil {
			key, err = freshKey(st.Dir())
		}
		return sealWith(key, text), err
	})
}

// putNamed keeps a file that a plan names. It is read anew, since a plan that is
// only looked at has no use for so many bytes; it must still be what was read
// then. Its size is bounded by what a plan reads.
func (a *app) putNamed(st *store.Store, f plans.NamedFile) (string, error) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return "", fmt.Errorf("%s has to be kept with the run: %w", f.Name, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.Digest {
		return "", fmt.Errorf("%s changed while the plan was read: start again when nothing writes to it", f.Name)
	}
	return st.Put(a.secrets.Bytes(data))
}

// daemonsName is the file in the state directory that lists the docker daemons
// on which something of ours may run.
const daemonsName = "docker.json"

// daemonRef is how a daemon is found again.
type daemonRef struct {
	Context string `json:"context,omitempty"`
	Host    string `json:"host,omitempty"`
	// Container is the ID of one that somebody else runs and in which we started
	// commands; empty for containers of our own.
	Container string `json:"container,omitempty"`
}

// daemonList is that file. A daemon is written down before anything is started
// on it and taken off once nothing is left there, so that a plan without docker
// asks no daemon for anything.
type daemonList struct{ path string }

// daemonsMu guards the file: several launchers write daemons down.
var daemonsMu sync.Mutex

func daemonsOf(st *store.Store) *daemonList {
	return &daemonList{path: filepath.Join(st.Dir(), daemonsName)}
}

func (l *daemonList) read() (refs []daemonRef, err error) {
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &refs)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of docker daemons that were used, %s, cannot be read: %w; "+
			"when nothing labelled %s runs on any of them, remove the file", l.path, err, docker.LabelOwner)
	}
	return refs, nil
}

// write replaces the file so that a crash leaves the old one or the new one.
func (l *daemonList) write(refs []daemonRef) error {
	if len(refs) == 0 {
		if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.MarshalIndent(refs, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(l.path), daemonsName+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), l.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// remember writes a daemon down.
func (l *daemonList) remember(d *docker.Daemon) error { return l.rememberExec(d, "") }

// rememberExec writes a container down that commands are started in.
func (l *daemonList) rememberExec(d *docker.Daemon, container string) error {
	ref := daemonRef{Context: d.Context(), Container: container}
	if ref.Context == "" {
		ref.Host = d.Host()
	}
	daemonsMu.Lock()
	defer daemonsMu.Unlock()
	refs, err := l.read()
	if err != nil || slices.Contains(refs, ref) {
		return err
	}
	return l.write(append(refs, ref))
}

// sweepTime bounds the search for leftovers on one daemon.
const sweepTime = 2 * time.Minute

// cleanDaemons removes the containers that a killed apply left, on the daemons
// that were written down. One that does not answer stays on the list: what is
// left there may hold a GPU, and is not ours to forget.
func (a *app) cleanDaemons(l *daemonList, owner string) (removed int, err error) {
	refs, err := l.read()
	if err != nil || len(refs) == 0 {
		return 0, err
	}
	var left []daemonRef
	for _, ref := range refs {
		ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
		swept, ended, failed := sweepDaemon(ctx, ref, owner)
		cancel()
		for _, s := range swept {
			fmt.Fprintf(a.stderr, "note: removed container %s (%s, started %s), which an earlier apply left on %s (launch %s)\n",
				s.Name, s.Image, s.Started.Local().Format(time.DateTime), s.Daemon, s.Launch)
		}
		if ended.Processes > 0 {
			fmt.Fprintf(a.stderr, "note: ended what an earlier apply left running in container %s on %s (%d of its processes)\n", ended.Container, ended.Daemon, ended.Processes)
		}
		removed += len(swept)
		switch {
		case errors.Is(failed, docker.ErrUnreachable):
			fmt.Fprintf(a.stderr, "note: whether an earlier apply left containers there is unknown: %v\n", failed)
			left = append(left, ref)
		case failed != nil:
			return removed, failed
		}
	}
	return removed, l.write(left)
}

func sweepDaemon(ctx context.Context, ref daemonRef, owner string) (removed []docker.Leftover, ended docker.ExecLeftover, err error) {
	d, err := docker.Connect(ctx, ref.Host, ref.Context)
	if err != nil {
		return nil, ended, err
	}
	if ref.Container != "" {
		ended, err = docker.SweepExec(ctx, d, ref.Container, owner)
		return nil, ended, err
	}
	removed, err = docker.Sweep(ctx, d, owner, time.Now())
	return removed, ended, err
}

// dockerLauncher starts engines in containers on behalf of a state directory.
func (a *app) dockerLauncher(st *store.Store, fetched *docker.FetchMemo) docker.Launcher {
	l := docker.Launcher{Progress: a.pulls(), Fetched: fetched}
	if st != nil {
		l.Remember = daemonsOf(st).remember
	}
	return l
}

// composeLauncher and execLauncher do the same for services of compose files and
// for commands in containers that run.
func (a *app) composeLauncher(st *store.Store, fetched *docker.FetchMemo) docker.ComposeLauncher {
	l := docker.ComposeLauncher{Progress: a.pulls(), Fetched: fetched}
	if st != nil {
		l.Remember = daemonsOf(st).remember
	}
	return l
}

func (a *app) execLauncher(st *store.Store) docker.ExecLauncher {
	if st == nil {
		return docker.ExecLauncher{}
	}
	return docker.ExecLauncher{Remember: daemonsOf(st).rememberExec}
}

// pulls prints how the pull of an image goes on, now and then.
func (a *app) pulls() func(docker.Progress) {
	const every = 5 * time.Second
	var mu sync.Mutex
	last := map[string]time.Time{}
	return func(p docker.Progress) {
		mu.Lock()
		defer mu.Unlock()
		began, seen := last[p.Image]
		switch {
		case !seen:
			fmt.Fprintf(a.stderr, "note: pulling image %s\n", p.Image)
		case p.Total == 0 || time.Since(began) < every:
			return
		default:
			fmt.Fprintf(a.stderr, "note: pulling image %s: %.2f of %.2f GB\n", p.Image, float64(p.Done)/1e9, float64(p.Total)/1e9)
		}
		last[p.Image] = time.Now()
	}
}

// machineNotes says in what this machine differs from the one of the last apply:
// that is why what was measured there is measured again.
func (a *app) machineNotes(st *store.Store, p *plans.Plan) {
	if st == nil || len(st.Runs()) == 0 {
		return
	}
	last, err := st.Run("latest")
	if err != nil || last.Start == nil {
		return
	}
	then, now := last.Start.Environment, machine.Environment()
	if variant.MachineKey(then, p) == variant.MachineKey(now, p) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(union(then, now))) {
		alone := func(value string) string { return variant.MachineKey(map[string]string{name: value}, p) }
		if alone(then[name]) == alone(now[name]) {
			continue
		}
		fmt.Fprintf(a.stderr, "note: since the last apply, this machine's %s has changed from %s to %s; what was measured before is measured again\n",
			name, orUnknown(then[name]), orUnknown(now[name]))
	}
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}

func orUnknown(s string) string {
	if s == "" {
		return "nothing known"
	}
	return s
}
