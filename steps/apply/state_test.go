package apply

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// What a plan names is kept as it was when the plan was read, with what is
// sensitive taken out; a file that changed since is no evidence.
func TestNamedFilesAreKept(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		must.Write(t, filepath.Join(dir, name), text)
	}
	const result = `{"num_prompts": 1, "label": "hunter2hunter2", "duration": 1, "completed": 1, "total_input_tokens": 1, "request_throughput": 1}`
	write("serving.json", result)
	write("plan.hcl", "plan \"p\" {}\nimported \"serving\" {\n  file = \"serving.json\"\n}\n")
	loaded := load.Path(filepath.Join(dir, "plan.hcl"), steps.Registry(), load.Options{})
	st, err := store.Open(t.TempDir())
	must.Do(t, err)
	defer st.Close()
	secrets := redact.New([]string{"hunter2hunter2"})
	first, all, err := putSources(st, loaded, secrets)
	if err != nil || len(all) != 2 || all[filepath.ToSlash(filepath.Join(dir, "plan.hcl"))] != first {
		t.Fatalf("%s, %v, %v", first, all, err)
	}
	kept, err := st.Get(all[filepath.ToSlash(filepath.Join(dir, "serving.json"))])
	if err != nil || strings.Contains(string(kept), "hunter2") || len(kept) == 0 {
		t.Errorf("%s, %v", kept, err)
	}
	write("serving.json", strings.Replace(result, "\"duration\": 1", "\"duration\": 2", 1))
	if _, _, err := putSources(st, loaded, secrets); err == nil ||
		!strings.Contains(err.Error(), "serving.json changed while the plan was being read") {
		t.Errorf("a changed file: %v", err)
	}
	must.Do(t, os.Remove(filepath.Join(dir, "serving.json")))
	if _, _, err := putSources(st, loaded, secrets); err == nil || !strings.Contains(err.Error(), "cannot keep") {
		t.Errorf("a file that is gone: %v", err)
	}
}

// TestCleanEndsWithHard: who presses Ctrl-C a second time does not wait for daemons that
// do not answer, and what may run there is not forgotten.
func TestCleanEndsWithHard(t *testing.T) {
	list := &daemonList{path: filepath.Join(t.TempDir(), daemonsName)}
	must.Write(t, list.path, `[{"host":"tcp://192.0.2.1:1"},{"host":"tcp://192.0.2.2:1","container":"box"}]`)
	hard, stop := context.WithCancel(t.Context())
	stop()
	var notes []verdict.Reason
	if _, err := list.clean(hard, "owner", func(r verdict.Reason) { notes = append(notes, r) }); err != nil {
		t.Fatal(err)
	}
	if refs, err := list.read(); err != nil || len(refs) != 2 {
		t.Errorf("%d daemons are left on the list, %v", len(refs), err)
	}
	for _, n := range notes {
		must.Equal(t, n, n.Kind, "apply.left_unknown")
	}
	must.Equal(t, "notes", len(notes), 2)
}

// TestClearLeft: the folder of a worker that was killed goes with the next one, that of
// one at work, or just made, does not.
func TestClearLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	old := time.Now().Add(-2 * time.Hour)
	made := func(name string) string {
		dir := filepath.Join(os.TempDir(), workerDir+name)
		must.Do(t, os.MkdirAll(stateOf(dir), 0o700))
		return dir
	}
	killed, atWork, fresh := made("killed"), made("at-work"), made("fresh")
	lock, err := store.Lock(stateOf(atWork))
	must.Do(t, err)
	defer lock.Unlock()
	for _, dir := range []string{killed, atWork} {
		must.Do(t, os.Chtimes(dir, old, old))
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
		if err != nil || lab.Launches.Boot != want {
			t.Errorf("%s: %q, %v", kind, lab.Launches.Boot, err)
		}
	}
}
