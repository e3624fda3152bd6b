package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// On a file system that is really full: what was acknowledged stays, what was
// not is not there, and once there is room the same store goes on.
func TestFullDisk(t *testing.T) {
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("needs the right to mount a small tmpfs: %v", err)
	}
	t.Cleanup(func() {
		must.Do(t, unix.Unmount(mount, unix.MNT_DETACH))
	})
	dir := filepath.Join(mount, ".mxflow")
	s := open(t, dir)
	ballast := filepath.Join(mount, "ballast")
	must.Do(t, os.WriteFile(ballast, make([]byte, 300<<10), 0o644))
	recorded := 0
	var err error
	for err == nil {
		if err = s.Append(decision("r", fmt.Sprintf("n%d", recorded), 1, verdict.Pass)); err == nil {
			recorded++
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Fatalf("after %d records: %v", recorded, err)
	}
	if _, err := s.Put(make([]byte, 1<<20)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("artifact: %v", err)
	}
	if rep, err := ledger.Verify(s.LedgerPath()); err != nil || rep.Records != recorded ||
		len(s.Decisions()) != recorded {
		t.Errorf("%d records acknowledged, %+v, %v", recorded, rep, err)
	}
	must.Do(t, os.Remove(ballast))
	add(t, s, launch("r", "l", "v", 3, true))
	if l := s.Launches(LaunchFilter{VariantKey: "v"}); len(l) != 1 || l[0].Seconds != 3 {
		t.Errorf("%+v", l)
	}
	s.Close()
	s = open(t, dir)
	if len(s.Decisions()) != recorded || len(s.Launches(LaunchFilter{})) != 1 || len(s.Notices()) != 0 {
		t.Errorf("opened again: %d decisions, notices %q", len(s.Decisions()), s.Notices())
	}
}
