package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorsNameTheFileAskedFor: nobody knows the temporary file.
func TestErrorsNameTheFileAskedFor(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none", "report.md")
	_, err := Open(missing)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("Open: %v", err)
	}
	// Between opening and writing, the place of the file is taken.
	path := filepath.Join(dir, "report.md")
	out, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := out.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "writing") {
		t.Errorf("Write: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
