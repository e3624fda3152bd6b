package apply

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// What a plan names is kept as it was when the plan was read, with what is
// sensitive taken out; a file that changed since is no evidence.
func TestNamedFilesAreKept(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		try.Write(t, filepath.Join(dir, name), text)
	}
	const result = `{"num_prompts": 1, "label": "hunter2hunter2", "duration": 1, "completed": 1, "total_input_tokens": 1, "request_throughput": 1}`
	write("serving.json", result)
	write("plan.hcl", "plan \"p\" {}\nimported \"serving\" {\n  file = \"serving.json\"\n}\n")
	loaded := load.Path(filepath.Join(dir, "plan.hcl"), steps.Registry(), load.Options{})
	st, err := store.Open(t.TempDir())
	try.OK(t, err)
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
	if _, _, err := putSources(st, loaded, secrets); err == nil || !strings.Contains(err.Error(), "serving.json changed while the plan was being read") {
		t.Errorf("a changed file: %v", err)
	}
	try.OK(t, os.Remove(filepath.Join(dir, "serving.json")))
	if _, _, err := putSources(st, loaded, secrets); err == nil || !strings.Contains(err.Error(), "cannot keep") {
		t.Errorf("a file that is gone: %v", err)
	}
}
