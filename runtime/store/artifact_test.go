package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
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
	if path, err := s.ArtifactPath(sum); err != nil || path != at {
		t.Errorf("%s, %v", path, err)
	}
	// Damage is told, and mended by who has the bytes.
	os.Chmod(at, 0o644)
	os.WriteFile(at, []byte("abd"), 0o644)
	if _, err := s.Get(sum); err == nil || !strings.Contains(err.Error(), "other bytes") {
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
