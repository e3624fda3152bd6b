package kinds

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDiagnose(t *testing.T) {
	kind := Kind{
		Crashes: []Signature{
			{Glob: "CUDA out of memory", Class: "oom", Means: "The GPU ran out of memory."},
			{Glob: "EngineCore failed to start", Class: "crash", Means: "The engine core did not start."},
		},
		Harmless: []string{"warning*out of memory"},
	}
	log := writeLog(t, "WARNING: CUDA out of memory is near\nERROR EngineCore failed to start.\n\x1b[31mtorch.OutOfMemoryError: CUDA out of memory.\x1b[0m\n")
	d, ok := kind.Diagnose(log)
	if want := "The GPU ran out of memory. [oom, log line 3: torch.OutOfMemoryError: CUDA out of memory.]"; !ok || d.String() != want {
		t.Errorf("got %v %q, want %q", ok, d, want)
	}
	if d, ok := kind.Diagnose(writeLog(t, "WARNING: CUDA out of memory is near\n")); ok {
		t.Errorf("a harmless line was taken for a crash: %v", d)
	}
	if _, ok := kind.Diagnose(log + ".none"); ok {
		t.Error("a log that is not there says nothing")
	}
	if _, ok := (Kind{}).Diagnose(log); ok {
		t.Error("a kind without signatures knows nothing")
	}
}

func writeLog(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
