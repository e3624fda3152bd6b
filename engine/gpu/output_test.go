package gpu

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTooMuchOutput: what calls itself nvidia-smi is asked whatever it is, and
// must not fill the memory.
func TestTooMuchOutput(t *testing.T) {
	for name, to := range map[string]string{"standard output": "", "standard error": " >&2"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// 64 MiB, four times what is read, and then success.
			program := "#!/bin/sh\nhead -c 67108864 /dev/zero" + to + "\nexit 0\n"
			if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(program), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := List(context.Background())
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "more than 16 MiB of output") || !strings.Contains(err.Error(), dir) {
				t.Fatalf("got %.300v", err)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 8*maxOutput {
				t.Errorf("%d MiB were taken for it", taken>>20)
			}
		})
	}
}
