package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestErrorsNameTheFileAskedFor: nobody knows the temporary file.
func TestErrorsNameTheFileAskedFor(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none", "report.md")
	if err := Replace(missing, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) ||
		strings.Contains(err.Error(), "writing") {
		t.Errorf("in no folder: %v", err)
	}
	path := filepath.Join(dir, "report.md")
	must.Do(t, os.Mkdir(path, 0o755))
	if err := Replace(path, []byte("x")); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("over a folder: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
