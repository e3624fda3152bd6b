package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// write makes a file that anybody can run.
func write(t testing.TB, path, text string) string {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// names are paths without a folder.
func names(dir string, paths []string) (short []string) {
	for _, path := range paths {
		short = append(short, strings.TrimPrefix(path, dir+"/"))
	}
	return short
}

func TestFilesAreKnownByContent(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "server.py"), "one")
	link := filepath.Join(dir, "link")
	must.Do(t, os.Symlink(path, link))
	var r Reader
	digest := func(path string) string {
		t.Helper()
		f, err := r.File(path)
		if err != nil || f.Path != path {
			t.Fatal(f, err)
		}
		return f.Digest
	}
	first := digest(path)
	must.Do(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
	if digest(path) != first || digest(link) != first {
		t.Error("a file that was touched, or is named by a link, is another one")
	}
	write(t, path, "two")
	if digest(path) == first || digest(link) == first {
		t.Error("a file with other content is the same")
	}
	if _, err := r.File(dir); err == nil {
		t.Error("a folder is a file")
	}
}

// A model is not read whole, and not again while its size and time are those on record:
// here its content changes, which a reading would show.
func TestModelsAreNotReadAgain(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "model.gguf"), "weights")
	if err := os.Truncate(path, 10<<30); err != nil {
		t.Skip("no sparse files: ", err)
	}
	change := func(text string, at time.Time) {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		must.Do(t, err)
		defer file.Close()
		if _, err := file.WriteAt([]byte(text), 0); err != nil {
			t.Fatal(err)
		}
		must.Do(t, os.Chtimes(path, time.Time{}, at))
	}
	at := time.Now().Truncate(time.Second)
	change("weights", at)
	first, err := new(Reader).File(path)
	must.Do(t, err)
	first.Digest = "parts:known"
	r := Reader{known: map[string]File{path: first}}
	r.loaded.Do(func() {})
	if again, err := r.File(path); err != nil || again != first {
		t.Error("it was read again", again, err)
	}
	change("changed", at) // as a program can
	if again, err := r.File(path); err != nil || again.Digest == first.Digest {
		t.Error("another model is the same", again, err)
	}
}

func TestCommandsNameFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"server.py": "import lib.model\nopen('settings.json')\nopen('data.bin')", "settings.json": "{}", "data.bin": "",
		"server.log": "",
		"serve.sh":   "#!/bin/sh\n. \"$(dirname \"$0\")/env.sh\"\nexec ${HERE}/bin/run server.py >server.log\n",
		"env.sh":     "A=1", "bin/run": "\x7fELF broken",
		"config.yaml": "", "lib/model.py": "",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	code := "bin/run env.sh serve.sh server.py settings.json"
	for command, want := range map[string]string{
		"./server.py":                       "server.py settings.json",
		"sh|serve.sh":                       code,
		"./serve.sh|--log|server.log":       code,
		"./serve.sh|--config=config.yaml":   strings.Replace(code, "env", "config.yaml env", 1),
		"sh|-c|exec ./serve.sh --port 1":    code,
		"./absent|--port|{port}|data.bin|":  "data.bin",
		"{mxflow}|engine|serve|--port|1|.|": "",
	} {
		found := Command{Words: strings.Split(command, "|"), Dir: dir, Env: func(string) string { return "" }}.Code()
		own := slices.DeleteFunc(names(dir, found.Files), filepath.IsAbs) // sh itself
		if got := strings.Join(own, " "); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
		if inFolder := slices.Contains(found.Roots, Root{dir, HoldsCode}); inFolder != (want != "") {
			t.Errorf("%s: folders %v", command, found.Roots)
		}
	}
}

// A file that only a value of the environment names is what runs: any that the plan names, of
// those of the shell settings and code. Programs that are named need not be run.
func TestEnvironmentNamesFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"given.conf", "kernels.json", "start.sh", "history", "shell", "out.log"} {
		write(t, filepath.Join(dir, name), "")
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	found := Command{
		Words: []string{"{mxflow}"}, Dir: dir, Env: func(string) string { return "" },
		Given:  []string{at("given.conf"), "out.log", "start"},
		Values: []string{at("history"), at("shell"), "level=1," + at("kernels.json") + ":/absent.json", "start.sh"},
	}.Code()
	if got := strings.Join(names(dir, found.Files), " "); got != "given.conf kernels.json start.sh" {
		t.Error(got)
	}
}

// More files than are looked at are said, and not left out.
func TestScriptsNameTooManyFiles(t *testing.T) {
	dir := t.TempDir()
	var script strings.Builder
	for i := range namedLimit {
		fmt.Fprintf(&script, "./%d.sh\n", i)
		write(t, filepath.Join(dir, fmt.Sprint(i, ".sh")), "")
	}
	write(t, filepath.Join(dir, "serve.sh"), script.String())
	found := Command{Words: []string{"./serve.sh"}, Dir: dir, Env: func(string) string { return "" }}.Code()
	if found.Problem == "" {
		t.Error("nothing is said of the rest")
	}
}

func TestPythonImports(t *testing.T) {
	dir := t.TempDir()
	python := write(t, filepath.Join(dir, "venv", "bin", "python3.12"), "")
	site := filepath.Join(dir, "venv", "lib", "python3.12", "site-packages")
	for _, root := range []string{"editable", "by pth", "old", "path"} {
		write(t, filepath.Join(dir, root, "x.py"), "")
	}
	write(t, filepath.Join(site, "vllm-1.dist-info", "METADATA"), "")
	write(t, filepath.Join(site, "vllm-1.dist-info", "direct_url.json"),
		`{"url": "file://`+dir+`/editable", "dir_info": {"editable": true}}`)
	write(t, filepath.Join(site, "torch-2.dist-info", "direct_url.json"),
		`{"url": "file://`+dir+`/wheel", "dir_info": {}}`)
	write(t, filepath.Join(site, "bad-3.dist-info", "direct_url.json"), `{"url": [`)
	write(t, filepath.Join(site, "more.pth"), "# comment\nimport os\n"+filepath.Join(dir, "by pth")+
		"\nbelow\n/absent\n")
	write(t, filepath.Join(site, "below", "y.py"), "")
	write(t, filepath.Join(site, "old.egg-link"), filepath.Join(dir, "old")+"\n.")
	write(t, filepath.Join(dir, "venv", "pyvenv.cfg"),
		"home = "+filepath.Join(dir, "python", "bin")+"\ninclude-system-site-packages = false\n")
	write(t, filepath.Join(dir, "python", "lib", "python3.12", "site.py"), "")
	write(t, filepath.Join(dir, "more.zip"), "")
	env := map[string]string{"PYTHONPATH": "path:made later:" + filepath.Join(dir, "more.zip"), "PYTHONNOUSERSITE": "1"}
	var found Code
	found.imports(python, Command{Dir: dir, Env: func(name string) string { return env[name] }})
	var roots []string
	for _, root := range found.Roots {
		roots = append(roots, strings.TrimPrefix(root.Dir, dir+"/")+" "+string(root.Holds))
	}
	slices.Sort(roots)
	if want := []string{
		"by pth all", "editable all", "made later all", "old all", "path all", "python/lib/python3.12 library",
		"venv/lib/python3.12/site-packages packages",
	}; !slices.Equal(roots, want) {
		t.Errorf("%q", roots)
	}
	delete(env, "PYTHONNOUSERSITE")
	env["PYTHONUSERBASE"] = filepath.Join(dir, "user")
	write(t, filepath.Join(dir, "venv", "pyvenv.cfg"),
		"home = "+filepath.Join(dir, "python", "bin")+"\ninclude-system-site-packages = true\n")
	found = Code{}
	found.imports(python, Command{Dir: dir, Env: func(name string) string { return env[name] }})
	if !slices.Contains(found.Roots,
		Root{filepath.Join(dir, "user", "lib", "python3.12", "site-packages"), HoldsPackages}) {
		t.Error("the user's packages are not watched before there are any", found.Roots)
	}
	if !slices.Equal(names(dir, found.Files), []string{"more.zip"}) {
		t.Error(found.Files)
	}
}

func TestFilesOfFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"a.py", "b.json", "c.log", ".hidden/d.py", "__pycache__/e.pyc", "f/libg.so.1", "f/h.py", "i.pyc",
		"venv/pyvenv.cfg", "venv/j.py", "own/k.py",
	} {
		write(t, filepath.Join(dir, name), "")
	}
	elsewhere := write(t, filepath.Join(t.TempDir(), "linked", "l.py"), "")
	for link, to := range map[string]string{
		"m": filepath.Dir(elsewhere), "n.py": elsewhere, "f/loop": dir,
		"gone.py": "/absent",
	} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for holds, want := range map[Holds]string{
		HoldsCode:     "a.py f/h.py f/libg.so.1 i.pyc m/l.py n.py",
		HoldsAll:      "a.py b.json f/h.py f/libg.so.1 i.pyc m/l.py n.py",
		HoldsPackages: ".hidden/d.py a.py b.json f/h.py f/libg.so.1 i.pyc m/l.py n.py venv/j.py venv/pyvenv.cfg",
	} {
		var got []string
		err := (Root{dir, holds}).walk([]string{filepath.Join(dir, "own")}, func(name string, _ File) {
			got = append(got, name)
		})
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: %q, %v", holds, got, err)
		}
	}
}

func TestOpenFilesOfAProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/maps"); err != nil {
		t.Skip("there is no /proc")
	}
	dir := t.TempDir()
	began := time.Now().Add(-time.Minute)
	var want []string
	for _, name := range []string{
		"libmapped.so", "libnew.so", "replaced.so.1", "model.gguf", "notes.txt",
		".cache/libjit.so", "written.gguf",
	} {
		path := write(t, filepath.Join(dir, name), "content")
		if name != "libnew.so" {
			must.Do(t, os.Chtimes(path, time.Time{}, began.Add(-time.Hour)))
		}
		flag := os.O_RDONLY
		if name == "written.gguf" {
			flag = os.O_RDWR
		}
		file, err := os.OpenFile(path, flag, 0)
		must.Do(t, err)
		if strings.Contains(name, ".so") {
			mapped, err := syscall.Mmap(int(file.Fd()), 0, 7, syscall.PROT_READ, syscall.MAP_PRIVATE)
			must.Do(t, err)
			t.Cleanup(func() { _ = syscall.Munmap(mapped) })
			file.Close()
		} else {
			t.Cleanup(func() { file.Close() })
		}
		switch name {
		case "libmapped.so", "replaced.so.1", "model.gguf":
			want = append(want, name)
		}
	}
	must.Do(t, os.Remove(filepath.Join(dir, "replaced.so.1")))
	var got []string
	for _, f := range Open([]int{os.Getpid()}, began, func(path string) string { return path }) {
		if name, in := strings.CutPrefix(f.Path, dir+"/"); in {
			got = append(got, name)
			if (f.Digest == Replaced) != (name == "replaced.so.1") {
				t.Error(f)
			}
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	ran := Running([]int{os.Getpid(), -1})
	if dir, _ := os.Getwd(); len(ran) != 1 || ran[0].Dir != dir || !slices.Equal(ran[0].Words, os.Args) ||
		ran[0].Env("PATH") != os.Getenv("PATH") {
		t.Errorf("%+v", ran)
	}
}
