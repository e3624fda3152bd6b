package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/flock"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", ".mxflow")
	s := open(t, dir)
	for _, name := range []string{"ledger", "artifacts/sha256", "runs"} {
		must.Get(os.Stat(filepath.Join(dir, name)))(t)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, ".gitignore")); string(b) != "*\n" {
		t.Errorf(".gitignore holds %q", b)
	}
	if len(s.Notices()) != 0 {
		t.Errorf("notices %q", s.Notices())
	}
	if run, err := s.RunDir("r1"); err != nil || run != filepath.Join(dir, "runs", "r1") {
		t.Errorf("%s, %v", run, err)
	}
	for _, bad := range []string{"", ".", "..", "a/b", "../x"} {
		if _, err := s.RunDir(bad); err == nil {
			t.Errorf("run folder %q", bad)
		}
	}
}

func TestUnusableDirectories(t *testing.T) {
	tmp := t.TempDir()
	file := filepath.Join(tmp, "file")
	os.WriteFile(file, nil, 0o644)
	uses := map[string]func(string) error{
		"Open":         func(d string) error { _, err := Open(d); return err },
		"OpenReadOnly": func(d string) error { _, err := OpenReadOnly(d); return err },
		"Lock":         func(d string) error { _, err := Lock(d); return err },
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		for name, use := range uses {
			must.Refuse(t, fmt.Sprint(name, " ", dir), use(dir), dir)
			must.Refuse(t, fmt.Sprint(name, " ", dir), use(dir), "move it away")
		}
	}
	if _, err := OpenReadOnly(filepath.Join(tmp, "none")); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "run apply first") {
		t.Errorf("got %v", err)
	}
	// A writer is not told to run what runs.
	delete(uses, "OpenReadOnly")
	for name, use := range uses {
		if err := use("/proc/none"); runtime.GOOS == "linux" && (!errors.Is(err, fs.ErrNotExist) ||
			!strings.Contains(err.Error(), "use another state directory") || strings.Contains(err.Error(), "apply")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for err, want := range map[error]string{
		syscall.EROFS: "read-only", syscall.EACCES: "take ownership", syscall.ENOSPC: "free some space",
		syscall.EIO: "repair the disk",
	} {
		if got := layout("x").explain(err); !errors.Is(got, err) || !strings.Contains(got.Error(), want) {
			t.Errorf("%v is explained as %v", err, got)
		}
	}
}

func TestQueries(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := s.Run("latest"); err == nil {
		t.Error("found a run where there is none")
	}
	add(t, s, runStart("20260101-aa"), launch("20260101-aa", "l1", "v1", 10, true),
		launch("20260101-aa", "l2", "v1", 20, true), launch("20260101-aa", "l3", "v1", 90, false),
		decision("20260101-aa", "n1", 1, verdict.Error), decision("20260101-aa", "n2", 1, verdict.Pass),
		runEnd("20260101-aa"))
	add(t, s, runStart("20260102-bb"), decision("20260102-bb", "n1", 2, verdict.Pass))

	for name, s := range map[string]*Store{"writer": s, "reader": openReadOnly(t, dir), "reopened": func() *Store {
		s.Close()
		return open(t, dir)
	}()} {
		t.Run(name, func(t *testing.T) {
			if d, run, ok := s.Latest("n1"); !ok || d.Attempt != 2 || run != "20260102-bb" {
				t.Errorf("Latest: %+v %s %v", d, run, ok)
			}
			if _, _, ok := s.Latest("nope"); ok || len(s.History("nope")) != 0 {
				t.Error("a node that never was is known")
			}
			if h := s.History("n1"); len(h) != 2 || h[0].Verdict != verdict.Error || h[1].Record != 8 {
				t.Errorf("History: %+v", h)
			}
			if d := s.Decisions(); len(d) != 2 || d[0].Node != "n2" || d[1].Node != "n1" || d[1].Attempt != 2 {
				t.Errorf("Decisions: %+v", d)
			}
			runs := s.Runs()
			if len(runs) != 2 || !runs[0].Done || runs[0].Exit != 2 || runs[0].Verdict != verdict.Fail ||
				runs[0].Plan != "p" || runs[1].Done {
				t.Errorf("Runs: %+v", runs)
			}
			for id, want := range map[string]string{
				"20260101-aa": "20260101-aa", "20260101": "20260101-aa",
				"latest": "20260102-bb",
			} {
				if r, err := s.Run(id); err != nil || r.ID != want {
					t.Errorf("Run(%q) = %v, %v", id, r, err)
				}
			}
			for id, want := range map[string]string{
				"2026": "20260101-aa, 20260102-bb",
				"x":    "the newest is 20260102-bb", "": "no run",
			} {
				if _, err := s.Run(id); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("Run(%q): %v", id, err)
				}
			}
			if r, _ := s.Run("latest"); len(r.Decisions) != 1 || len(r.Launches) != 0 ||
				r.Start == nil || r.End != nil {
				t.Errorf("RunView %+v", r)
			}
			if got := s.Launches(LaunchFilter{VariantKey: "v1", Purpose: "benchmark", OK: true}); len(got) != 2 ||
				got[0].ID != "l1" {
				t.Errorf("Launches: %+v", got)
			}
			if got := s.Launches(LaunchFilter{Session: "other"}); len(got) != 0 {
				t.Errorf("Launches: %+v", got)
			}
			if l, ok := s.LaunchByID("l3"); !ok || l.OK {
				t.Errorf("LaunchByID: %+v", l)
			}
			if len(s.Notices()) != 0 {
				t.Errorf("notices %q", s.Notices())
			}
		})
	}
}

// A reader works on a directory that it cannot write to, and leaves no trace.
func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, runStart("r"), launch("r", "l1", "v1", 10, true))
	sum := must.Get(s.Put([]byte("log")))(t)
	s.Close()
	must.Do(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	list := func() (names []string) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	before := list()
	r := openReadOnly(t, dir)
	if l := r.Launches(LaunchFilter{VariantKey: "v1"}); len(l) != 1 || l[0].Seconds != 10 {
		t.Errorf("%+v", l)
	}
	if b, err := r.Get(sum); err != nil || string(b) != "log" {
		t.Errorf("%q, %v", b, err)
	}
	if err := r.Append(runStart("r")); !errors.Is(err, errReadOnly) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Put([]byte("x")); !errors.Is(err, errReadOnly) {
		t.Errorf("got %v", err)
	}
	r.Close()
	if !reflect.DeepEqual(before, list()) {
		t.Errorf("left behind: %v", list())
	}
}

// TestReadersWhileWriting: what readers find is whole, whatever is written meanwhile.
func TestReadersWhileWriting(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var done atomic.Bool
	var wg sync.WaitGroup
	for _, r := range []func() (*Store, error){func() (*Store, error) {
		return OpenReadOnly(dir)
	}, func() (*Store, error) { return s, nil }} {
		wg.Go(func() {
			for !done.Load() {
				r, err := r()
				if err != nil {
					t.Error(err)
					return
				}
				least := len(r.Launches(LaunchFilter{}))
				if n := len(r.Launches(LaunchFilter{VariantKey: "v"})); n < least || r != s && n > least {
					t.Errorf("%d launches of the variant, the ledger has %d", n, least)
				}
				r.Latest("n")
				if len(r.Notices()) > 0 {
					t.Error(r.Notices())
				}
				if r != s {
					r.Close()
				}
			}
		})
	}
	for i := range 60 {
		add(t, s, launch("r", string(rune('A'+i)), "v", 1, true), decision("r", "n", i+1, verdict.Pass))
	}
	done.Store(true)
	wg.Wait()
}

func TestAppendErrorsLeaveNothing(t *testing.T) {
	s := open(t, t.TempDir())
	add(t, s, decision("r", "n", 1, verdict.Error))
	if err := s.Append(decision("r", "m", 1, verdict.Pass), decision("r", "n", 1, verdict.Pass)); err == nil {
		t.Error("took attempt 1 twice")
	}
	if _, _, ok := s.Latest("m"); ok {
		t.Error("half a batch is there")
	}
	s.Close()
	if err := s.Append(runStart("r")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	must.Get(ledger.Verify(s.LedgerPath()))(t)
}

// appendForEver records decisions and says the number of each once it is recorded.
func appendForEver(dir string) error {
	if _, err := Lock(dir); err != nil {
		return err
	}
	s, err := Open(dir)
	if err != nil {
		return err
	}
	for n := len(s.History("n")) + 1; ; n++ {
		if err := s.Append(decision("r", "n", n, verdict.Error), launch("r", fmt.Sprint("l", n), "v", 1, true)); err !=
			nil {
			return err
		}
		fmt.Println(n)
	}
}

// Killed at any instant, nothing that was acknowledged is lost.
func TestKilledWhileAppending(t *testing.T) {
	dir := t.TempDir()
	for round := range 4 {
		cmd, out := child(t, "append", dir)
		acknowledged := 0
		for range 10 + 17*round {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatalf("the other process says %q: %v", line, err)
			}
			if acknowledged, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
				t.Fatalf("the other process says %q", line)
			}
		}
		kill(t, cmd)
		l := must.Get(Lock(dir))(t)
		s := open(t, dir)
		if got := len(s.History("n")); got < acknowledged {
			t.Errorf("%d decisions, %d were acknowledged", got, acknowledged)
		}
		if n := len(s.Launches(LaunchFilter{VariantKey: "v"})); n != len(s.Launches(LaunchFilter{})) {
			t.Errorf("%d launches of the variant", n)
		}
		for _, n := range s.Notices() {
			if !strings.Contains(n, "torn") {
				t.Error(n)
			}
		}
		s.Close()
		must.Get(ledger.Verify(s.LedgerPath()))(t)
		l.Unlock()
	}
}

// TestWaivers: the newest waiver of a gate is found by writers and readers, and a run shows those of its decisions.
func TestWaivers(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	gate := decision("r1", "phase.a", 1, verdict.Fail)
	gate.Decision.Kind = "gate"
	waive := func(reason string, revoked bool) *ledger.Record {
		return &ledger.Record{Type: "waiver", Time: noon, Run: "r1", Waiver: &ledger.Waiver{
			Node: "phase.a", Attempt: 1, Verdict: verdict.Fail,
			Reason: reason, By: "kim", Expires: noon.Add(time.Hour), Revoked: revoked,
		}}
	}
	if s.Waiver("phase.a") != nil || len(s.Waivers()) != 0 {
		t.Error("there is a waiver before any was given")
	}
	add(t, s, runStart("r1"), gate, runEnd("r1"))
	// Given after the run ended, of a decision of it.
	add(t, s, waive("known", false), waive("not known", true))
	add(t, s, runStart("r2"), runEnd("r2"))
	add(t, s, decision("r1", "feature.a", 1, verdict.Pass))
	add(t, s, decision("r1", "feature.a", 2, verdict.Fail))
	for name, s := range map[string]*Store{"writer": s, "reader": openReadOnly(t, dir)} {
		if w := s.Waiver("phase.a"); w == nil || !w.Revoked || w.Reason != "not known" {
			t.Errorf("%s: the newest waiver is %+v", name, w)
		}
		if all := s.Waivers(); len(all) != 2 || all[0].Reason != "known" || all[0].Run != "r1" || all[0].Record != 3 {
			t.Errorf("%s: waivers are %+v", name, all)
		}
		if runs := s.Runs(); len(runs) != 2 || !runs[0].Done || runs[1].ID != "r2" {
			t.Errorf("%s: runs are %+v", name, runs)
		}
		view, err := s.Run("r1")
		if err != nil || len(view.Waivers) != 2 || len(view.Decisions) != 3 {
			t.Errorf("%s: %+v, %v", name, view, err)
		}
		if d, _, _ := s.Latest("feature.a"); d.Verdict != verdict.Fail || d.Attempt != 2 {
			t.Errorf("%s: the newest decision is %+v", name, d)
		}
	}
}

// TestMain plays the other process when it is asked to, which goes on until it is killed.
func TestMain(m *testing.M) {
	dir := os.Getenv("STORE_TEST_DIR")
	var err error
	switch os.Getenv("STORE_TEST_CHILD") {
	case "lock":
		err = holdLock(dir)
	case "append":
		err = appendForEver(dir)
	default:
		os.Exit(m.Run())
	}
	fmt.Println(err)
	os.Exit(1)
}

func holdLock(dir string) error {
	if _, err := Lock(dir); err != nil {
		return err
	}
	fmt.Println("locked")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// child starts this test as the other process and returns what it says.
func child(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+role, "STORE_TEST_DIR="+dir)
	must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, bufio.NewReader(out)
}

// locked is a process that holds the lock.
func locked(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd, out := child(t, "lock", dir)
	if line, err := out.ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	must.Do(t, cmd.Process.Kill())
	cmd.Wait()
}

func TestLockDiesWithItsHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".mxflow")
	child := locked(t, dir)
	_, err := Lock(dir)
	var held *HeldError
	if !errors.As(err, &held) || held.Holder == nil || held.Holder.PID != child.Process.Pid {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		filepath.Join(dir, "lock"), fmt.Sprint(child.Process.Pid),
		filepath.Base(os.Args[0]),
	} {
		must.Contain(t, err, err.Error(), want)
	}
	// Readers do not care.
	must.Get(os.Create(filepath.Join(dir, "ledger")))(t)
	openReadOnly(t, dir)

	kill(t, child)
	if b, _ := os.ReadFile(filepath.Join(dir, "lock")); len(b) == 0 {
		t.Error("the dead holder's file is empty, so this shows nothing")
	}
	// What it was about to start may hold it a moment longer.
	f := must.Get(os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0))(t)
	must.Get(flock.Exclusive(f))(t)
	late := exec.Command("cat")
	late.ExtraFiles = []*os.File{f}
	in := must.Get(late.StdinPipe())(t)
	must.Do(t, errors.Join(late.Start(), f.Close()))
	if held, _, err := AtWork(dir); !held {
		t.Fatalf("its child does not hold it: %v", err)
	}
	time.AfterFunc(100*time.Millisecond, func() { in.Close(); late.Wait() })
	l, err := Lock(dir)
	if err != nil {
		t.Fatalf("the holder is dead: %v", err)
	}
	must.Do(t, l.Unlock())
}

func TestLockWithinAProcess(t *testing.T) {
	dir := t.TempDir()
	l := must.Get(Lock(dir))(t)
	var held *HeldError
	if _, err := Lock(dir); !errors.As(err, &held) || held.Holder.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
	must.Do(t, l.Unlock())
	// What is written in the file is no lock.
	os.WriteFile(filepath.Join(dir, "lock"), []byte(`{"pid":1,"host":"here"}`), 0o644)
	l = must.Get(Lock(dir))(t)
	// A holder that has not signed yet, or whose file is torn.
	for _, text := range []string{"", `{"pid":`} {
		os.WriteFile(filepath.Join(dir, "lock"), []byte(text), 0o644)
		if _, err := Lock(dir); !errors.As(err, &held) || held.Holder != nil || held.Error() == "" {
			t.Errorf("%q: got %v", text, err)
		}
	}
	l.Unlock()
}

// Whoever looks learns who is at work, and that a dead holder's file means nothing.
func TestAtWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".mxflow")
	look := func(want bool) *Holder {
		t.Helper()
		held, by, err := AtWork(dir)
		if err != nil || held != want {
			t.Fatalf("held %v by %+v, %v; want %v", held, by, err, want)
		}
		return by
	}
	look(false)
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking made the directory")
	}
	other := locked(t, dir)
	if by := look(true); by == nil || by.PID != other.Process.Pid || by.Started.IsZero() {
		t.Errorf("it is held by %+v", by)
	}
	kill(t, other)
	must.Equal(t, "it is held by the dead", look(false), nil)
	// One who has not said who it is.
	l := must.Get(Lock(dir))(t)
	must.Do(t, os.Truncate(filepath.Join(dir, "lock"), 0))
	must.Equal(t, "nobody signed, and it is held by", look(true), nil)
	l.Unlock()
}

// The lock names the run that its holder is at work on, and never that of a holder who is dead.
func TestLockNamesTheRun(t *testing.T) {
	dir := t.TempDir()
	l := must.Get(Lock(dir))(t)
	defer l.Unlock()
	run := func() string {
		t.Helper()
		held, by, err := AtWork(dir)
		switch {
		case err != nil || !held:
			t.Fatalf("held %v, %v", held, err)
		case by == nil:
			return "nobody"
		}
		return by.Run
	}
	must.Equal(t, "before it began one, the run is", run(), "")
	// Shorter and longer than what is there.
	for _, id := range []string{"20260102T030405-aabbcc", "r", "r-1"} {
		must.Do(t, l.Begin(id))
		must.Equal(t, "the run is", run(), id)
	}
}

// Whoever looks is in nobody's way.
func TestLookingIsInNobodysWay(t *testing.T) {
	dir := t.TempDir()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, _, err := AtWork(dir); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 300 {
		l := must.Get(Lock(dir))(t)
		must.Do(t, l.Unlock())
	}
	close(stop)
	<-stopped
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s := must.Get(Open(dir))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func openReadOnly(t testing.TB, dir string) *Store {
	t.Helper()
	s := must.Get(OpenReadOnly(dir))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t testing.TB, s *Store, recs ...*ledger.Record) {
	t.Helper()
	must.Do(t, s.Append(recs...))
}

func runStart(run string) *ledger.Record {
	return &ledger.Record{
		Type: "run", Time: noon, Run: run,
		RunStart: &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "test"},
	}
}

func runEnd(run string) *ledger.Record {
	return &ledger.Record{
		Type: "end", Time: noon.Add(time.Hour), Run: run,
		End: &ledger.End{Verdict: verdict.Fail, Exit: 2, Reason: verdict.New(code.Finished)},
	}
}

func launch(run, id, key string, seconds float64, ok bool) *ledger.Record {
	return &ledger.Record{Type: "launch", Time: noon, Run: run, Launch: &ledger.Launch{
		ID: id, Session: "s-" + key, Purpose: "benchmark", Node: "baseline", Variant: key, VariantKey: key,
		Ordinal: 1, Order: 1,
		Started: noon, Seconds: seconds, OK: ok, Engine: map[string]string{"kind": "embedded"},
		Metrics: map[string]measure.Summary{"chat.tg": {
			Unit: "tok/s", Better: "higher", N: 10,
			Stats: map[string]float64{"mean": 57.85, "median": 57.9},
		}},
	}}
}

func decision(run, node string, attempt int, v verdict.Verdict) *ledger.Record {
	value, low := 0.12, 0.10
	return &ledger.Record{Type: "decision", Time: noon, Run: run, Decision: &ledger.Decision{
		Node: node, Kind: "feature", MeasureKey: "m", DecisionKey: "d", Attempt: attempt, Verdict: v,
		Because: verdict.Say("first",
			"first"),
		Reasons: []verdict.Reason{verdict.Say("broken", "{error}", verdict.Text("error", "chat.tg.gain 12% >= 10%"))},
		Rules: []verdict.Rule{{
			Name: "decode", Role: "criterion", Expr: "chat.tg.gain >= 0.10", Source: "p.hcl:3:5",
			Verdict: v, Decides: true,
			Inputs: []verdict.Input{{Path: "chat.tg.gain", Value: &value, N: 5, BaseN: 5, Low: &low}},
		}},
	}}
}
