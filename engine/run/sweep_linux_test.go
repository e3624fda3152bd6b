package run_test

import (
	"bufio"
	"crypto/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// killedApply runs an mxflow that starts an engine with two stubborn children for owner,
// and kills it as soon as the engine is ready, its guard first if guardToo.
func killedApply(t *testing.T, owner string, guardToo bool) (url string) {
	t.Helper()
	self, err := os.Executable()
	must.Do(t, err)
	cmd := exec.Command(self, filepath.Join(t.TempDir(), "engine.log"))
	cmd.Env = append(os.Environ(), applyEnv+"="+owner)
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _, _ = run.Sweep(owner) })
	line, _ := bufio.NewReader(out).ReadString('\n')
	for _, pid := range guards(cmd.Process.Pid) {
		if guardToo {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !strings.HasPrefix(line, "http://") {
		t.Fatalf("the engine did not start: %s", line)
	}
	return strings.TrimSpace(line)
}

func TestSweepEndsWhatAKilledRunLeft(t *testing.T) {
	mine, theirs := "owner-"+rand.Text(), "owner-"+rand.Text()
	url := killedApply(t, mine, true)
	killedApply(t, theirs, true)

	// The engine itself dies with its guard; its children do not.
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			break
		}
		conn.Close()
		if time.Now().After(limit) {
			t.Fatal("the engine outlives a killed mxflow")
		}
	}

	swept, err := run.Sweep(mine)
	must.Do(t, err)
	if len(swept) != 2 {
		t.Errorf("swept %+v, want the two children", swept)
	}
	for _, s := range swept {
		if s.PID <= 0 || s.Launch != "launch-1" || s.Command == "" {
			t.Errorf("swept %+v, want pid, launch and command", s)
		}
	}
	if again, err := run.Sweep(mine); err != nil || len(again) != 0 {
		t.Errorf("a second sweep found %+v, %v", again, err)
	}
	if other, err := run.Sweep(theirs); err != nil || len(other) != 2 {
		t.Errorf("the other owner's sweep found %+v, %v; want its two children untouched so far", other, err)
	}
}

func TestSweepSparesItsOwnChildren(t *testing.T) {
	owner := "owner-" + rand.Text()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = append(os.Environ(), "MXFLOW_OWNER="+owner)
	must.Do(t, cmd.Start())
	swept, err := run.Sweep(owner)
	if err != nil || len(swept) != 0 {
		t.Errorf("swept %+v, %v; want nothing: this program runs and holds it", swept, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := run.Sweep(""); err == nil {
		t.Error("an empty owner would match every process without a mark")
	}
}
