package store

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestHostileArchives: what Export would not have written is refused, and nothing is
// written outside of the folder that it is unpacked into.
func TestHostileArchives(t *testing.T) {
	s := open(t, t.TempDir())
	sum, err := s.Put([]byte("plan"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(&ledger.Record{Type: "run", Time: noon, Run: "r1", RunStart: &ledger.RunStart{Plan: "p", PlanSource: sum}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // which brings the checkpoint up to date
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if err := s.Export(&whole, "key"); err != nil {
		t.Fatal(err)
	}
	type entry struct {
		tar.Header
		data string
	}
	var entries []entry
	in := tar.NewReader(bytes.NewReader(whole.Bytes()))
	for h, err := in.Next(); err == nil; h, err = in.Next() {
		var data bytes.Buffer
		if _, err := data.ReadFrom(in); err != nil {
			t.Fatal(err)
		}
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
			if err := out.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Write([]byte(e.data)); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
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
			if err := got.Close(); err != nil {
				t.Error(err)
			}
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
