package process_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/process"
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

func TestGuardianEndsWhatAKilledRunLeft(t *testing.T) {
	mine, theirs := "owner-"+rand.Text(), "owner-"+rand.Text()
	killedApply(t, theirs)
	killedApply(t, mine, guardedEnv+"=1")
	eventually(t, "nothing runs", func() bool { return len(carrying("MXFLOW_OWNER="+mine)) == 0 })
	if other := carrying("MXFLOW_OWNER=" + theirs); len(other) < 2 {
		t.Errorf("of an mxflow without a guardian %v run, want its two children", other)
	}
}

// victim is a process that carries marks, and what a line to a guardian says of it.
func victim(t *testing.T, env ...string) (alive func() bool, known string) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), env...), &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	pid := strconv.Itoa(cmd.Process.Pid)
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[19]
	return func() bool {
		select {
		case <-ended:
			return false
		default:
			return true
		}
	}, `{"` + pid + `":` + start + `}`
}

// What a guardian process is told to the end of its input, and whether it then ends
// a process: one with the mark W, or with none, or with others beside it.
func TestServeGuardian(t *testing.T) {
	const marked, bare, nested = "MXFLOW_WARD=W", "MXFLOW_WARD=", "MXFLOW_OWNER=another"
	tests := map[string]struct {
		env, told string
		ends      bool
		status    int
	}{
		"about to start":                  {marked, `{"ward":"W"}`, true, 0},
		"as one of several":               {marked, `{"ward":"V"}{"ward":"W"}{"ward":"V","ended":true}`, true, 0},
		"ended":                           {marked, `{"ward":"W"}{"ward":"W","ended":true}`, false, 0},
		"nothing":                         {marked, ``, false, 0},
		"another ward":                    {marked, `{"ward":"V"}`, false, 0},
		"another ward, seen as part":      {marked, `{"ward":"V","processes":KNOWN}`, false, 0},
		"cut in a line":                   {marked, `{"ward":"W"}` + "\n" + `{"ward":"V","proc`, true, 0},
		"no line of ours":                 {marked, `{"ward":"W"} mxflow`, false, 1},
		"without a mark":                  {bare, `{"ward":"W"}`, false, 0},
		"without a mark, seen":            {bare, `{"ward":"W","processes":KNOWN}`, true, 0},
		"without a mark, no longer seen":  {bare, `{"ward":"W","processes":KNOWN}{"ward":"W","processes":{}}`, false, 0},
		"another process with that pid":   {bare, `{"ward":"W","processes":LATER}`, false, 0},
		"another mxflow's in a step":      {nested, `{"ward":"W","processes":KNOWN}`, false, 0},
		"a mark beside another mxflow's ": {marked + " " + nested, `{"ward":"W"}`, true, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			mark := rand.Text()
			alive, known := victim(t, strings.Fields(strings.ReplaceAll(tc.env, "=W", "="+mark))...)
			later := strings.Replace(known, ":", ":1", 1)
			told := strings.NewReplacer(`"W"`, `"`+mark+`"`, "KNOWN", known, "LATER", later).Replace(tc.told)
			cmd := exec.Command(os.Args[0], "guard")
			cmd.Stdin = strings.NewReader(told)
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != tc.status {
				t.Errorf("it ended with %v, want %d", cmd.ProcessState, tc.status)
			}
			if tc.ends {
				eventually(t, "the process is ended", func() bool { return !alive() })
			} else if !alive() {
				t.Error("the process was ended")
			}
		})
	}
}

// guardianOf waits for a guardian process of this one other than those.
func guardianOf(t *testing.T, others ...int) (found int) {
	t.Helper()
	eventually(t, "a guardian runs", func() bool {
		for _, pid := range carrying("MXFLOW_OWNER=guardian") {
			if parentOf(pid) == os.Getpid() && !slices.Contains(others, pid) {
				found = pid
				return true
			}
		}
		return false
	})
	return found
}

// parentOf is the pid of a process' parent, 0 where it is gone.
func parentOf(pid int) int {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// A guardian that is lost, or does not read what it is told, neither ends what runs
// nor holds it up, and another one is there in its place.
func TestGuardianIsReplaced(t *testing.T) {
	g := process.NewGuardian(os.Args[0], "guard")
	run, err := process.StartCommand(engine.Spec{Command: []string{"sleep", "1000"}},
		engine.Launch{ID: "guarded", Owner: "owner-" + rand.Text(), LogPath: filepath.Join(t.TempDir(), "log"), Guardian: g})
	if err != nil {
		t.Fatal(err)
	}
	first := guardianOf(t)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := guardianOf(t, first)
	if err := syscall.Kill(second, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ward := g.Guard(rand.Text())
	processes := map[int]uint64{}
	for pid := range 1000 {
		processes[-pid] = 1
	}
	line, _ := json.Marshal(processes)
	for range 1<<16/len(line) + 2 { // more than a pipe holds
		ward.Runs(processes)
	}
	ward.Ended()
	guardianOf(t, first, second)
	if exit := run.Exit(); exit != nil {
		t.Errorf("the command ended: %v", exit)
	}
	if err := run.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// What a guardian costs a start; its process is started with the first.
func BenchmarkStart(b *testing.B) {
	for name, guardian := range map[string]engine.Guardian{"alone": nil, "guarded": process.NewGuardian(os.Args[0], "guard")} {
		b.Run(name, func(b *testing.B) {
			launch := engine.Launch{ID: "l", Owner: "o", LogPath: filepath.Join(b.TempDir(), "log"), Guardian: guardian}
			for b.Loop() {
				run, err := process.StartCommand(engine.Spec{Command: []string{"true"}}, launch)
				if err != nil {
					b.Fatal(err)
				}
				<-run.Exited()
				b.StopTimer()
				if err := run.Stop(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
