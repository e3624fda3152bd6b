package store

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestHostileArchives: what Export would not have written is refused, and nothing is
// written outside of the folder that it is unpacked into.
func TestHostileArchives(t *testing.T) {
	s := open(t, t.TempDir())
	sum := must.Get(s.Put([]byte("plan")))(t)
	if err := s.Append(&ledger.Record{Type: "run", Time: noon, Run: "r1", RunStart: &ledger.RunStart{Plan: "p", PlanSource: sum}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // which brings the checkpoint up to date
		t.Fatal(err)
	}
	var whole bytes.Buffer
	must.Do(t, s.Export(&whole, "key"))
	type entry struct {
		tar.Header
		data string
	}
	var entries []entry
	in := tar.NewReader(bytes.NewReader(whole.Bytes()))
	for h, err := in.Next(); err == nil; h, err = in.Next() {
		var data bytes.Buffer
		must.Get(data.ReadFrom(in))(t)
		entries = append(entries, entry{*h, data.String()})
	}
	artifact := "artifacts/sha256/" + sum[:2] + "/" + sum[2:]
	file := func(name, data string) entry {
		return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644}, data}
	}
	link := func(kind byte, name, to string) entry {
		return entry{tar.Header{Typeflag: kind, Name: name, Linkname: to, Mode: 0o644}, ""}
	}
	without := func(name string) (out []entry) {
		for _, e := range entries {
			if e.Name != name {
				out = append(out, e)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		entries []entry
		want    string
	}{
		"whole":              {entries, ""},
		"traversal":          {append(entries, file("../outside", "x")), `the unexpected file "../outside"`},
		"absolute":           {append(entries, file("/tmp/outside", "x")), "the unexpected file"},
		"traversal below":    {append(entries, file("artifacts/sha256/../../../outside", "x")), "the unexpected file"},
		"secret":             {append(entries, file("secret.key", "x")), "the unexpected file"},
		"link":               {append(without(archivedLedger), link(tar.TypeSymlink, archivedLedger, "/etc/passwd")), "not a regular file"},
		"hard link":          {append(without(artifact), link(tar.TypeLink, artifact, archivedLedger)), "not a regular file"},
		"device":             {append(without(artifact), link(tar.TypeChar, artifact, "")), "not a regular file"},
		"folder":             {append(without(artifact), link(tar.TypeDir, artifact, "")), "not a regular file"},
		"twice":              {append(entries, entries[0]), "exists"},
		"has digest":         {append(without(artifact), file(artifact, "plam")), "another digest"},
		"named by nothing":   {append(entries, file("artifacts/sha256/2c/f24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "hello")), "which no record refers to"},
		"no ledger":          {without(archivedLedger), "ledger"},
		"nothing":            {nil, "ledger"},
		"extended headers":   {append(without(artifact), entry{tar.Header{Typeflag: tar.TypeReg, Name: artifact, Size: 4, PAXRecords: map[string]string{"MXFLOW.x": "1"}}, "plan"}), "not a regular file"},
		"an edited ledger":   {append(without(archivedLedger), file(archivedLedger, strings.Replace(entries[0].data, "r1", "r2", 1))), "does not match its tree hash"},
		"a missing artifact": {without(artifact), ""}, // audit verify names it
	} {
		var b bytes.Buffer
		out := tar.NewWriter(&b)
		for _, e := range c.entries {
			h := e.Header
			must.Do(t, out.WriteHeader(&h))
			must.Get(out.Write([]byte(e.data)))(t)
		}
		must.Do(t, out.Close())
		dir := t.TempDir()
		t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
		path := filepath.Join(dir, "export.tar")
		write := os.WriteFile(path, b.Bytes(), 0o644)
		if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o755); err != nil || write != nil {
			t.Fatal(err, write)
		}
		got, err := OpenArchive(path)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case err == nil:
			must.Do(t, got.Close())
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) > 0 {
			t.Errorf("%s: %s is left", name, left[0].Name())
		}
		if found, _ := os.ReadDir(dir); len(found) != 2 {
			t.Errorf("%s: wrote beside the folder: %v", name, found)
		}
	}
	// A sparse file claims more than the archive holds.
	sparse := append([]byte{}, whole.Bytes()...)
	sparse[156] = tar.TypeGNUSparse
	if _, err := unpackFiles(bytes.NewReader(sparse), t.TempDir()); err == nil {
		t.Error("a sparse file is taken")
	}
}

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
	must.Get(s.Put([]byte("abc")))(t)
	must.Get(s.Get(sum))(t)
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
	sum := must.Get(s.Put([]byte("abc")))(t)
	at := s.artifact(sum)
	copied := filepath.Join(t.TempDir(), "copy")
	os.WriteFile(copied, []byte("abc"), 0o600)
	for name, put := range map[string]func() error{
		"a pipe":             func() error { return exec.Command("mkfifo", at).Run() },
		"a link to a device": func() error { return os.Symlink("/dev/zero", at) },
		"a link to a copy":   func() error { return os.Symlink(copied, at) },
		"a folder":           func() error { return os.Mkdir(at, 0o700) },
	} {
		must.Do(t, os.Remove(at))
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
