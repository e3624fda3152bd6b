package variant

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/runtime"
)

// Program identifies what is started: the version of the embedded engine (not the hash of
// a binary that also contains the rest of mxflow), the digest of an image, or that of the
// program's file, with the packages of the Python that runs it.
func (l *Resolver) Program(ctx context.Context, spec engine.Spec) string {
	if l.Images != nil && spec.How() != engine.HowProcess {
		// An apply pulled the image before it asks for a key. Viewing a plan pulls none:
		// there a missing image is "missing".
		id, _ := l.Images.Identify(ctx, spec)
		return id
	}
	if v, ok := l.KindVersions[spec.Kind]; ok {
		return v
	}
	if len(spec.Command) == 0 {
		return ""
	}
	name := spec.Command[0]
	path := name
	if filepath.Base(name) == name {
		found, err := exec.LookPath(name)
		if err != nil {
			return "missing"
		}
		path = found
	} else if !filepath.IsAbs(name) {
		path = filepath.Join(spec.Dir, name)
	}
	sum := l.programDigest(path)
	if packages := packagesBeside(PythonOf(spec)); len(packages) > 0 && !IsFree("packages", l.AcceptedEntries()) {
		return runtime.Digest(sum, packages)
	}
	return sum
}

// packagesBeside are the packages, with versions, in the folders next to an interpreter,
// by the names of what pip writes there. A Python program is a few lines that import
// them: an upgrade does not change its file.
func packagesBeside(python []string) (names []string) {
	if len(python) == 0 || !strings.HasPrefix(filepath.Base(python[0]), "python") {
		return nil
	}
	interpreter, err := exec.LookPath(python[0])
	if err != nil {
		return nil
	}
	prefix := filepath.Dir(filepath.Dir(interpreter))
	for _, folder := range []string{"site-packages", "dist-packages"} {
		found, _ := filepath.Glob(filepath.Join(prefix, "lib", "python*", folder, "*.dist-info"))
		for _, path := range found {
			names = append(names, strings.TrimSuffix(filepath.Base(path), ".dist-info"))
		}
	}
	slices.Sort(names)
	return names
}

// programSum is the digest of a program's file as it was at one time.
type programSum struct {
	size     int64
	modified time.Time
	sum      string
}

// programDigest is fileDigest, cached while the file is unchanged: a step may build it
// again.
func (l *Resolver) programDigest(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "missing"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.programs[path]; ok && known.size == info.Size() && known.modified.Equal(info.ModTime()) {
		return known.sum
	}
	sum := runtime.FileDigest(path)
	if l.programs == nil {
		l.programs = map[string]programSum{}
	}
	l.programs[path] = programSum{info.Size(), info.ModTime(), sum}
	return sum
}

// pythonKinds run on Python. Kinds absent from both lists do if their command shows an
// interpreter.
var (
	pythonKinds = []string{"vllm", "sglang", "trtllm", "transformers", "tabbyapi"}
	otherKinds  = []string{"embedded", "llamacpp", "ollama"}
)

// IsPython reports whether Python packages say something about the engine.
func IsPython(spec engine.Spec) bool {
	switch {
	case spec.Endpoint != nil, slices.Contains(otherKinds, spec.Kind):
		return false
	case slices.Contains(pythonKinds, spec.Kind):
		return true
	}
	return len(PythonOf(spec)) > 0
}

// PythonOf is the interpreter of a command: itself, uv's, or the one named in the first
// line of a process's program. Nil if there is none.
func PythonOf(spec engine.Spec) []string {
	if len(spec.Command) == 0 {
		return nil
	}
	program := spec.Command[0]
	base := filepath.Base(program)
	switch {
	case strings.HasPrefix(base, "python"):
		return []string{program}
	case base == "uv" && len(spec.Command) > 1 && spec.Command[1] == "run":
		return []string{program, "run", "--no-sync", "python"}
	case spec.How() != engine.HowProcess:
		return nil
	}
	if base == program {
		program, _ = exec.LookPath(program)
	} else if !filepath.IsAbs(program) {
		program = filepath.Join(spec.Dir, program)
	}
	return shebang(program)
}

// interpreter is a Python in the first lines of a program: "#!/venv/bin/python3", or what
// pip writes if that line would be too long.
var interpreter = regexp.MustCompile(`^#!\s*(?:/usr/bin/env (python[\d.]*)\s|(/\S*/python[\d.]*)\s|/bin/sh\n'''exec' "?(/\S*/python[\d.]*)"?\s)`)

// shebang is the Python that runs a program, nil if none does.
func shebang(program string) []string {
	f, err := os.Open(program)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 1024)
	n, _ := io.ReadFull(f, head)
	for i, found := range interpreter.FindStringSubmatch(string(head[:n])) {
		if i > 0 && found != "" {
			return []string{found}
		}
	}
	return nil
}
