package store

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// appendForEver records decisions and says the number of each once it is
// recorded.
func appendForEver(dir string) error {
	if _, err := Lock(dir); err != nil {
		return err
	}
	s, err := Open(dir)
	if err != nil {
		return err
	}
	for n := s.Attempts("n") + 1; ; n++ {
		if err := s.Append(decision("r", "n", n, verdict.Error), launch("r", fmt.Sprint("l", n), "v", 1, true)); err != nil {
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
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		l, err := Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		if got := s.Attempts("n"); got < acknowledged {
			t.Errorf("%d decisions, %d were acknowledged", got, acknowledged)
		}
		if _, n := s.MeanLaunchSeconds("v", ""); n != len(s.Launches(LaunchFilter{})) {
			t.Errorf("the estimate rests on %d launches", n)
		}
		for _, n := range s.Notices() {
			if !strings.Contains(n, "torn") {
				t.Error(n)
			}
		}
		s.Close()
		if _, err := ledger.Verify(s.LedgerPath()); err != nil {
			t.Error(err)
		}
		l.Unlock()
	}
}
