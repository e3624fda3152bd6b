package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestArtifacts(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	file := filepath.Join(t.TempDir(), "log")
	os.WriteFile(file, []byte("abc"), 0o600)
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if s.Has(sum) {
		t.Error("Has before Put")
	}
	if _, err := s.Get(sum); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if got, err := s.PutFile(file); err != nil || got != sum {
			t.Fatalf("%s, %v", got, err)
		}
		if got, err := s.Put([]byte("abc")); err != nil || got != sum {
			t.Fatalf("%s, %v", got, err)
		}
	}
	at := filepath.Join(dir, "artifacts", "sha256", "ba", sum[2:])
	if b, err := s.Get(sum); err != nil || !bytes.Equal(b, []byte("abc")) || !s.Has(sum) {
		t.Errorf("%q, %v", b, err)
	}
	// Damage is told, and mended by who has the bytes.
	os.Chmod(at, 0o644)
	os.WriteFile(at, []byte("abd"), 0o644)
	if _, err := s.Get(sum); err == nil || !strings.Contains(err.Error(), "has digest") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Put([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(sum); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "ba", "../../../etc/passwd", strings.ToUpper(sum), sum + "00"} {
		if _, err := s.Get(bad); err == nil || s.Has(bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := s.PutFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	left := filepath.Join(dir, "artifacts", "sha256", ".new-1")
	os.WriteFile(left, nil, 0o644)
	s.Close()
	open(t, dir)
	if files, _ := filepath.Glob(filepath.Join(dir, "artifacts", "sha256", ".new-*")); len(files) != 0 {
		t.Errorf("left over: %v", files)
	}
}

// TestArtifactThatIsNoFile: an artifact is read as a file or not at all. A pipe
// would be waited for without end, and a device read without end.
func TestArtifactThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	sum, err := s.Put([]byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	at := s.artifact(sum)
	copied := filepath.Join(t.TempDir(), "copy")
	os.WriteFile(copied, []byte("abc"), 0o600)
	for name, put := range map[string]func() error{
		"a pipe":             func() error { return exec.Command("mkfifo", at).Run() },
		"a link to a device": func() error { return os.Symlink("/dev/zero", at) },
		"a link to a copy":   func() error { return os.Symlink(copied, at) },
		"a folder":           func() error { return os.Mkdir(at, 0o700) },
	} {
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Logf("%s cannot be made here: %v", name, err)
			os.WriteFile(at, []byte("abc"), 0o600)
			continue
		}
		if _, err := s.Get(sum); err == nil || !strings.Contains(err.Error(), "not a regular file") || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "a folder" {
			continue // which nothing replaces
		}
		// Who has the bytes mends it.
		if _, err := s.Put([]byte("abc")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Get(sum); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
