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

	"github.com/mxflow/mxflow/engine"
)

// Program identifies what is started: the version of the embedded engine (not the hash of
// a binary that also contains the rest of mxflow), the digest of an image, or that of the
// program's file.
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
	file, err := l.Read.File(path)
	if err != nil {
		return "missing"
	}
	return file.Digest
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

// interpreter is a Python in the first lines of a program: "#!/venv/bin/python3", or what
// pip writes if that line would be too long.
var interpreter = regexp.MustCompile(
	`^#!\s*(?:/usr/bin/env (python[\d.]*)\s|(/\S*/python[\d.]*)\s|/bin/sh\n'''exec' "?(/\S*/python[\d.]*)"?\s)`)
