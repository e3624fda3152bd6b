package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// installedAt writes a package of some files as an installer does: its files, then a RECORD of
// them, all of them an hour ago.
func installedAt(t testing.TB, site, name string, files map[string]string) {
	t.Helper()
	var record strings.Builder
	put := func(path, text string) { write(t, filepath.Join(site, path), text) }
	for path, text := range files {
		put(path, text)
		fmt.Fprintf(&record, "%s,,%d\n", path, len(text))
	}
	put(name+".dist-info/METADATA", "Name: "+name)
	fmt.Fprintf(&record, "%[1]s.dist-info/METADATA,,\n%[1]s.dist-info/RECORD,,\n", name)
	put(name+".dist-info/RECORD", record.String())
}

// TestPackagesByContent: a package counts by what its files are, whatever is written about them
// and however they got there.
func TestPackagesByContent(t *testing.T) {
	site := filepath.Join(t.TempDir(), "lib", "python3.12", "site-packages")
	kern := map[string]string{"kern/__init__.py": "FAST = 1\n", "kern/_C.so": "machine code", "kern/tuned.json": "{}"}
	installedAt(t, site, "kern-1.0", kern)
	installedAt(t, site, "other-2.0", map[string]string{"other.py": ""})
	write(t, filepath.Join(site, "debian", "x.py"), "")
	cache := t.TempDir()
	take := func() (*Reader, Identity) {
		r := &Reader{Cache: cache}
		id := r.Take(Code{Roots: []Root{{site, HoldsPackages}}})
		if id.Unknown != "" {
			t.Fatal(id.Unknown)
		}
		return r, id
	}
	_, was := take()
	var packages []string
	for _, f := range was.Folders {
		packages = append(packages, f.Package+" "+f.Version)
	}
	if !slices.Equal(packages, []string{"debian ", "kern 1.0", "other 2.0"}) {
		t.Errorf("%q", packages)
	}
	init := filepath.Join(site, "kern", "__init__.py")
	for _, c := range []struct {
		name   string
		change func() error
		want   string
	}{
		{"touched", func() error { return os.Chtimes(init, time.Time{}, time.Now().Add(-time.Minute)) }, ""},
		{"hard-linked elsewhere", func() error { return os.Link(init, filepath.Join(t.TempDir(), "linked")) }, ""},
		{"installed again, the same", func() error { installedAt(t, site, "kern-1.0", kern); return nil }, ""},
		{"compiled by Python", func() error {
			write(t, filepath.Join(site, "kern", "__pycache__", "__init__.cpython-312.pyc"), "")
			return nil
		}, ""},
		{"edited in place, of one size, with its time set back", func() error {
			info, err := os.Stat(init)
			if err == nil {
				err = os.WriteFile(init, []byte("FAST = 0\n"), 0o644)
			}
			if err == nil {
				err = os.Chtimes(init, time.Time{}, info.ModTime())
			}
			return err
		}, "kern/__init__.py"},
		{"installed again, with the same version", func() error {
			kern["kern/tuned.json"] = "{1}"
			kern["kern/new.py"] = ""
			installedAt(t, site, "kern-1.0", kern)
			return nil
		}, "kern/__init__.py kern/new.py kern/tuned.json"},
		{"a library replaced", func() error {
			return os.WriteFile(filepath.Join(site, "kern/_C.so"), []byte("machine c0de"), 0o644)
		}, "kern/_C.so"},
		{"removed", func() error { return os.Remove(filepath.Join(site, "kern/new.py")) }, "kern/new.py"},
		{"of no package", func() error {
			return os.WriteFile(filepath.Join(site, "debian/x.py"), []byte("1"), 0o644)
		}, "debian/x.py"},
		{"a .pth", func() error {
			return os.WriteFile(filepath.Join(site, "a.pth"), []byte("import kern"), 0o644)
		}, "a.pth"},
	} {
		must.Do(t, c.change())
		r, is := take()
		got := strings.Join(r.Changed(was, is), " ")
		if strings.ReplaceAll(got, site+"/", "") != c.want {
			t.Errorf("%s: changed %q, want %q", c.name, got, c.want)
		}
		if same := was.Digest() == is.Digest(); same != (c.want == "") {
			t.Errorf("%s: the same %v", c.name, same)
		}
		was = is
	}
	// A list that is gone names its package.
	must.Do(t, os.WriteFile(filepath.Join(site, "other.py"), []byte("2"), 0o644))
	if err := os.RemoveAll(cache); err != nil {
		t.Fatal(err)
	}
	if r, is := take(); fmt.Sprint(r.Changed(was, is)) != "["+filepath.Join(site, "other")+"]" {
		t.Errorf("%q", r.Changed(was, is))
	}
}

// What appears in a folder that held no code is a change, and named.
func TestFirstFileOfAFolder(t *testing.T) {
	dir := t.TempDir()
	var r Reader
	code := Code{Roots: []Root{{dir, HoldsCode}, {filepath.Join(dir, "site-packages"), HoldsPackages}}}
	was := r.Take(code)
	later, packaged := write(t, filepath.Join(dir, "later.py"), "x"),
		write(t, filepath.Join(dir, "site-packages", "usercustomize.py"), "x")
	r.Forget()
	is := r.Take(was.Code())
	if got := r.Changed(was, is); !slices.Equal(got, []string{later, packaged}) {
		t.Error(got)
	}
	if got := r.Changed(is, was); !slices.Equal(got, []string{later, packaged}) {
		t.Error("gone again:", got)
	}
	if got := r.Moved(was, is); !slices.Equal(got, []string{later, packaged}) {
		t.Error("between two launches:", got)
	}
}

// What a RECORD says that a package installed, and is not there any more.
func TestEditedPackages(t *testing.T) {
	site := t.TempDir()
	write(t, filepath.Join(site, "kern", "a.py"), "a\n")
	write(t, filepath.Join(site, "kern", "b,c.py"), "b\n")
	write(t, filepath.Join(site, "kern-1.dist-info", "RECORD"),
		"kern/a.py,sha256=h0KPxSKAPTEGXnvOPPA_5HUJZjHl4Hu9eg_eYMTPJcc,2\n"+
			"\"kern/b,c.py\",sha256=AAAA,2\nkern-1.dist-info/RECORD,,\n")
	id := new(Reader).Take(Code{Roots: []Root{{site, HoldsPackages}}})
	if len(id.Folders) != 1 || id.Folders[0].Package != "kern" ||
		!slices.Equal(id.Folders[0].Edited, []string{"kern/b,c.py"}) {
		t.Errorf("%+v", id)
	}
}

// What was read is not read again in the next run, unless it may have changed since: a file
// that was just written has the times of one that is written again now.
func TestReadersRemember(t *testing.T) {
	site, cache := t.TempDir(), t.TempDir()
	old, young := write(t, filepath.Join(site, "old.py"), "1"), write(t, filepath.Join(site, "young.py"), "1")
	remembered := func(change func(f *File)) Identity {
		r := &Reader{Cache: cache}
		r.loaded.Do(r.load)
		for path, f := range r.known {
			change(&f)
			r.known[path] = f
		}
		return r.Take(Code{Roots: []Root{{site, HoldsAll}}})
	}
	same := func(*File) {}
	first := remembered(same)
	if lie := remembered(func(f *File) { f.Digest = "lie" }); lie.Digest() != first.Digest() {
		t.Error("a file that was just written was not read again")
	}
	time.Sleep(settled + 100*time.Millisecond) // the clock of the file system is what is tested
	remembered(same)
	write(t, young, "2")
	r, now := &Reader{Cache: cache}, remembered(func(f *File) { f.Digest += "lie" })
	digests, ok := r.list(now.Folders[0].List)
	for name, digest := range digests {
		if lies := strings.Contains(digest, "lie"); !ok || lies != (name == filepath.Base(old)) {
			t.Errorf("%s: %s", name, digest)
		}
	}
}
