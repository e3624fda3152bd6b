package run_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}

// stat are the fields of a process' stat from its state on, none if it is gone.
func stat(pid int) []string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

func runs(pid int) bool {
	s := stat(pid)
	return len(s) > 0 && s[0] != "Z"
}

// guards are the guards of a process.
func guards(of int) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, file := range files {
		name, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if s := stat(pid); string(name) == "mx-guard\n" && len(s) > 1 && s[0] != "Z" && s[1] == strconv.Itoa(of) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// daemon is a script that starts one and goes on: it has its own session, drops its
// parent and its environment, writes its pid to a file ($0 in it), and does something.
func daemon(t *testing.T, does, after string) (file, script string, pid func() int) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "pid")
	script = `( setsid env -i PATH="$PATH" sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; ` + does + `' ` + file +
		` & ); until [ -e ` + file + ` ]; do sleep 0.01; done; ` + after
	return file, script, func() (found int) {
		t.Helper()
		eventually(t, "the daemon runs", func() bool {
			text, _ := os.ReadFile(file)
			found, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			return found != 0
		})
		return found
	}
}

// A process that drops everything by which it could be recognised is ended with its
// launch. It is named, unless it ends by itself once the engine has ended.
func TestStopEndsDaemons(t *testing.T) {
	for name, tc := range map[string]struct {
		does  string
		grace time.Duration
		named bool
	}{
		"one that minds SIGTERM":   {`exec sleep 1000`, 4 * time.Second, true},
		"one that does not":        {`trap "" TERM; while :; do sleep 1; done`, 400 * time.Millisecond, true},
		"one that sees to its end": {`while [ -d /proc/$(cat "$0.engine") ]; do sleep 0.01; done`, time.Minute, false},
		"one that takes its time": {
			`while [ -d /proc/$(cat "$0.engine") ]; do sleep 0.01; done; sleep 0.5`,
			time.Minute, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Waiting for the engine: it is a zombie while the launch lasts.
			file, script, pid := daemon(t, `until [ -e "$0.engine" ]; do sleep 0.01; done; `+tc.does, "")
			spec := shell(script + ` sleep 1000 & echo $! >` + file + `.engine.new; mv ` + file + `.engine.new ` +
				file + `.engine; wait`)
			spec.StopGrace = tc.grace
			run, err := run.StartCommand(spec,
				engine.Launch{ID: name, Owner: t.Name(), LogPath: filepath.Join(t.TempDir(), "log")})
			must.Do(t, err)
			daemon := pid()
			eventually(t, "the engine is up", func() bool {
				_, err := os.Stat(file + ".engine")
				return err == nil
			})
			must.Do(t, run.Stop(t.Context()))
			if runs(daemon) {
				t.Errorf("the daemon %d runs on", daemon)
			}
			if left := run.(engine.Leaver).Leftovers(); (len(left) > 0) != tc.named {
				t.Errorf("left running were %q, want any: %t", left, tc.named)
			}
		})
	}
}

// However mxflow ends, so does everything that it started, daemons included.
func TestGuardEndsWhatAKilledRunLeft(t *testing.T) {
	owner := "owner-" + rand.Text()
	killedApply(t, owner, false)
	eventually(t, "nothing runs", func() bool { return len(carrying("MXFLOW_OWNER="+owner)) == 0 })
}

// A guard that is ended takes the engine with it, and mxflow does not claim that nothing
// is left, since it cannot know. Whatever can be found is ended.
func TestAGuardThatIsLost(t *testing.T) {
	_, script, pid := daemon(t, `exec sleep 1000`, `sleep 1000`)
	before := guards(os.Getpid())
	run, err := run.StartCommand(shell(script),
		engine.Launch{ID: "l-" + rand.Text(), Owner: "o", LogPath: filepath.Join(t.TempDir(), "log")})
	must.Do(t, err)
	daemon := pid()
	lost := slices.DeleteFunc(guards(os.Getpid()), func(pid int) bool { return slices.Contains(before, pid) })
	if len(lost) != 1 {
		t.Fatalf("its guard is one of %v", lost)
	}
	// As it is within a second.
	eventually(t, "the daemon is seen", func() bool { return slices.Contains(run.(engine.Resident).PIDs(), daemon) })
	// Signals that ask processes to end, from people or the terminal, are for mxflow.
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM} {
		if err := syscall.Kill(lost[0], sig); err != nil || !runs(lost[0]) {
			t.Errorf("%v ended the guard", sig)
		}
	}
	must.Do(t, syscall.Kill(lost[0], syscall.SIGKILL))
	<-run.Exited()
	var f *engine.Failure
	for range 2 {
		if err := run.Stop(t.Context()); !errors.As(err, &f) || f.Op != "stop" ||
			!strings.Contains(f.Reason, strconv.Itoa(lost[0])) {
			t.Errorf("Stop: %v, want a failure that names the guard %d", err, lost[0])
		}
	}
	if runs(daemon) {
		t.Errorf("the daemon %d runs on", daemon)
	}
}

// A guard that is killed before it could say how the start went has started something all
// the same. Which of the two came first is chance, so this is tried often.
func TestAGuardThatIsLostAtTheStart(t *testing.T) {
	for range 30 {
		l := engine.Launch{ID: "l-" + rand.Text(), Owner: "o", LogPath: filepath.Join(t.TempDir(), "log")}
		run, err := run.StartCommand(shell(`setsid sleep 1000 & kill -KILL $PPID; sleep 1000`), l)
		must.Do(t, err)
		<-run.Exited()
		var f *engine.Failure
		if err := run.Stop(t.Context()); !errors.As(err, &f) || !strings.Contains(f.Reason, "mx-guard") {
			t.Errorf("Stop: %v, want a failure that names the guard", err)
		}
		eventually(t, "nothing runs", func() bool { return len(carrying("MXFLOW_LAUNCH="+l.ID)) == 0 })
	}
}

// A stopped guard delays nothing.
func TestAGuardThatIsStopped(t *testing.T) {
	before := guards(os.Getpid())
	run, err := run.StartCommand(shell("sleep 1000"),
		engine.Launch{ID: "l", Owner: "o", LogPath: filepath.Join(t.TempDir(), "log")})
	must.Do(t, err)
	for _, pid := range guards(os.Getpid()) {
		if !slices.Contains(before, pid) {
			must.Do(t, syscall.Kill(pid, syscall.SIGSTOP))
		}
	}
	must.Do(t, run.Stop(t.Context()))
	if exit := run.Exit(); exit == nil || exit.Signal != "SIGTERM" {
		t.Errorf("Exit is %v, want SIGTERM", exit)
	}
	if left := guards(os.Getpid()); len(left) > len(before) {
		t.Errorf("the guards %v are left", left)
	}
}

// One that is kept stopped by what it guards cannot end that, but mxflow does.
func TestAGuardThatIsKeptStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("mxflow gives the guard ten seconds")
	}
	t.Parallel()
	file, script, pid := daemon(t, `trap "" TERM; while kill -STOP $(cat "$0.guard"); do sleep 0.01; done`,
		`sleep 1000`)
	spec := shell(`echo $PPID >` + file + `.guard; ` + script)
	spec.StopGrace = 100 * time.Millisecond
	run, err := run.StartCommand(spec,
		engine.Launch{ID: "l-" + rand.Text(), Owner: "o", LogPath: filepath.Join(t.TempDir(), "log")})
	must.Do(t, err)
	daemon := pid()
	eventually(t, "the daemon is seen", func() bool { return slices.Contains(run.(engine.Resident).PIDs(), daemon) })
	must.Do(t, run.Stop(t.Context()))
	if runs(daemon) {
		t.Errorf("the daemon %d runs on", daemon)
	}
}

// carrying are the processes with an entry in their environment.
func carrying(entry string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, _ := os.ReadFile(file) // of another user, or gone
		for kv := range strings.SplitSeq(string(environ), "\x00") {
			if kv == entry {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// The cost of a start, with its guard.
func BenchmarkStart(b *testing.B) {
	launch := engine.Launch{ID: "l", Owner: "o", LogPath: filepath.Join(b.TempDir(), "log")}
	for b.Loop() {
		run, err := run.StartCommand(engine.Spec{Command: []string{"true"}}, launch)
		must.Do(b, err)
		<-run.Exited()
		b.StopTimer()
		must.Do(b, run.Stop(context.Background()))
		b.StartTimer()
	}
}
