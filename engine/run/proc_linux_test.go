package run

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/testing/require"
)

// A worker that left the group and dropped its environment is still found
// while its parent lives.
func TestStopFindsUnmarkedDescendants(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	spec := engine.Spec{
		Kind: "openai",
		Command: []string{
			"sh", "-c",
			`setsid env -i sh -c 'trap "" TERM; echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 1000' "$0" & sleep 1000`, pidFile,
		},
		Env:       map[string]string{"PATH": os.Getenv("PATH")},
		StopGrace: 100 * time.Millisecond,
	}
	inst, err := Launcher{}.Launch(t.Context(), spec, engine.Launch{ID: "l", Owner: "o", LogPath: filepath.Join(t.TempDir(), "log")})
	require.NoError(t, err)
	var worker procID
	for limit := time.Now().Add(30 * time.Second); worker.pid == 0; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(pidFile)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			p, err := readProc(pid)
			require.NoError(t, err)
			worker = p.procID
		}
		if time.Now().After(limit) {
			t.Fatal("the worker did not start")
		}
	}
	if err := inst.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if worker.alive() {
		t.Error("the worker runs on")
	}
}

func TestParseStat(t *testing.T) {
	tests := map[string]struct {
		stat string
		want proc
		ok   bool
	}{
		"running": {
			"7 (sleep) S 1 2 3 0 -1 4194304 91 0 0 0 0 0 0 0 20 0 1 0 4242 5 6",
			proc{procID: procID{7, 4242}, ppid: 1, pgid: 2},
			true,
		},
		"a name made to mislead": {
			"7 (a) Z 9 9 (b) S 1 2 3 0 -1 4194304 91 0 0 0 0 0 0 0 20 0 1 0 4242 5 6",
			proc{procID: procID{7, 4242}, ppid: 1, pgid: 2},
			true,
		},
		"zombie": {
			"7 (sleep) Z 1 2 3 0 -1 4194304 91 0 0 0 0 0 0 0 20 0 1 0 4242 5 6",
			proc{procID: procID{7, 4242}, ppid: 1, pgid: 2, gone: true},
			true,
		},
		"main thread ended, others run": {
			"7 (sleep) Z 1 2 3 0 -1 4194304 91 0 0 0 0 0 0 0 20 0 5 0 4242 5 6",
			proc{procID: procID{7, 4242}, ppid: 1, pgid: 2},
			true,
		},
		"short": {"7 (sleep) S 1 2", proc{}, false},
		"empty": {"", proc{}, false},
	}
	for name, tc := range tests {
		if got, err := parseStat([]byte(tc.stat)); err == nil && got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestSignalSparesAReusedPID(t *testing.T) {
	self, err := readProc(os.Getpid())
	require.NoError(t, err)
	earlier := procID{self.pid, self.start - 1}
	if err := earlier.signal(9); err == nil {
		t.Error("a process with another start time was signalled")
	}
}

// Each process is "pid ppid pgid mark"; those to be ended are marked with !.
func TestLeftovers(t *testing.T) {
	const self = 50
	tests := map[string]string{
		"marked, and what descends": "!10 1 10 mine, !11 10 10 -, !12 11 12 -",
		"another owner's":           "10 1 10 theirs, 11 10 10 -, !20 1 20 mine, 21 20 21 theirs, 22 21 21 -",
		"unmarked strangers":        "10 1 10 -, 11 10 10 -",
		"itself and its ancestors":  "10 1 10 mine, 40 10 40 -, 50 40 50 mine",
		"its own children":          "50 1 50 -, 51 50 51 mine, 52 51 51 -, !60 1 60 mine",
		"beside it in its group":    "10 1 10 -, !11 10 10 mine, 12 10 10 -",
	}
	for name, rows := range tests {
		var table []proc
		marks, want := map[int]string{}, map[int]bool{}
		for row := range strings.SplitSeq(rows, ", ") {
			var p proc
			var mark string
			if _, err := fmt.Sscan(strings.TrimPrefix(row, "!"), &p.pid, &p.ppid, &p.pgid, &mark); err != nil {
				t.Fatalf("%s: %v", row, err)
			}
			if mark != "-" {
				marks[p.pid] = mark
			}
			if row[0] == '!' {
				want[p.pid] = true
			}
			table = append(table, p)
		}
		got := map[int]bool{}
		for _, p := range leftovers(table, self, "mine", func(p proc) string { return marks[p.pid] }) {
			got[p.pid] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: ends %v, want %v", name, got, want)
		}
	}
}

// The cost of watching, per look and per search.
func BenchmarkMemory(b *testing.B) {
	for name, search := range map[string]bool{"look": false, "search": true} {
		b.Run(name, func(b *testing.B) {
			p := &process{child: &child{guard: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}}
			for b.Loop() {
				p.sampleMemory(search)
			}
		})
	}
}
