package apply

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/store"
)

// TestClearLeft: the folder of a worker that was killed goes with the next one, that of
// one at work, or just made, does not.
func TestClearLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	old := time.Now().Add(-2 * time.Hour)
	made := func(name string) string {
		dir := filepath.Join(os.TempDir(), workerDir+name)
		try.OK(t, os.MkdirAll(stateOf(dir), 0o700))
		return dir
	}
	killed, atWork, fresh := made("killed"), made("at-work"), made("fresh")
	lock, err := store.Lock(stateOf(atWork))
	try.OK(t, err)
	defer lock.Unlock()
	for _, dir := range []string{killed, atWork} {
		try.OK(t, os.Chtimes(dir, old, old))
	}
	removeWorkerFolders()
	for dir, want := range map[string]bool{killed: false, atWork: true, fresh: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestBoot: sessions on this machine end with its boot. On others they do not: mxflow may
// apply from another machine next time.
func TestBoot(t *testing.T) {
	for kind, want := range map[string]string{plans.LocalExecutor: machine.BootID(), plans.SlurmExecutor: ""} {
		lab, err := NewLab(Wiring{Plan: &plans.Plan{Executor: &plans.Executor{Kind: kind}}})
		if err != nil || lab.Boot != want {
			t.Errorf("%s: %q, %v", kind, lab.Boot, err)
		}
	}
}
