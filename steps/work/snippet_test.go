package work

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/internal/try"
)

// by runs git itself, as a person would.
func by(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Test", "-c", "user.email=test@localhost"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	try.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	try.Write(t, path, text)
}

// commit writes a file and commits it, and returns the commit.
func commit(t *testing.T, dir, name, text string) string {
	t.Helper()
	put(t, dir, name, text)
	by(t, dir, "add", name)
	by(t, dir, "commit", "-qm", "change "+name)
	return by(t, dir, "rev-parse", "HEAD")
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	by(t, dir, "init", "-q")
	r, err := source.OpenRepo(t.Context(), dir)
	try.OK(t, err)
	text := func(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
	const granularity = "constexpr int kSm12xBlockScaleGranularity = 128;"
	put(t, dir, "csrc/sm12x_a.cuh", text("// a", "  "+granularity, "int x;"))
	put(t, dir, "csrc/sm12x_b.cuh", text("namespace {", "\t"+granularity, "}"))
	put(t, dir, "csrc/other.cu", text(granularity))
	by(t, dir, "add", "-A")
	from := commit(t, dir, "core.py", text("import x", "def cutlass_fused_moe(a,", "                      b):", "  return 1", "pass", "pass"))
	const snippet = "kSm12xBlockScaleGranularity  = 128"

	for _, test := range []struct {
		name          string
		change        func()
		snippet, glob string
		want          string
	}{
		{"nothing changed", func() {}, snippet, "csrc/sm12x_*.cuh", "still csrc/sm12x_a.cuh:2 csrc/sm12x_a.cuh:2, still csrc/sm12x_b.cuh:2 csrc/sm12x_b.cuh:2"},
		{"in no such file", func() {}, snippet, "*.py", ""},
		{"nowhere", func() {}, "kSm13x", "csrc/*", ""},
		{"lines", func() {}, "def cutlass_fused_moe(a,\n  b):\n", "core.py", "still core.py:2 core.py:2"},
		{"lines in another order", func() {}, "b):\ndef cutlass_fused_moe(a,", "core.py", ""},
		{"further down", func() {
			put(t, dir, "csrc/sm12x_a.cuh", text("// a", "// more", "  "+granularity, "int x;"))
		}, snippet, "csrc/sm12x_a.cuh", "moved csrc/sm12x_a.cuh:2 csrc/sm12x_a.cuh:3"},
		{"in another file", func() {
			put(t, dir, "csrc/sm12x_a.cuh", text("// a"))
			put(t, dir, "include/scale.cuh", text("", "", granularity))
			put(t, dir, "csrc/other.cu", text("//"))
		}, snippet, "csrc/sm12x_*.cuh", "moved csrc/sm12x_a.cuh:2 include/scale.cuh:3, still csrc/sm12x_b.cuh:2 csrc/sm12x_b.cuh:2"},
		{"another number", func() {
			put(t, dir, "include/scale.cuh", text(""))
			put(t, dir, "csrc/sm12x_a.cuh", text("int y;", "// a", strings.Replace(granularity, "128", "64", 1)))
		}, snippet, "csrc/sm12x_a.cuh", "gone csrc/sm12x_a.cuh:2 :0"},
		{"renamed in part", func() {
			put(t, dir, "core.py", text("import x", "", "def cutlass_moe_fused_v2(a, c,", "   b):"))
		}, "def cutlass_fused_moe(a,", "core.py", "gone core.py:2 :0"},
		{"gone with its file", func() { by(t, dir, "rm", "-q", "core.py") }, "def cutlass_fused_moe(a,", "core.py", "gone core.py:2 :0"},
		{"gone from its file", func() { put(t, dir, "csrc/sm12x_a.cuh", text("nothing of it")) }, snippet, "csrc/sm12x_a.cuh", "gone csrc/sm12x_a.cuh:2 :0"},
	} {
		test.change()
		by(t, dir, "add", "-A")
		by(t, dir, "commit", "-q", "--allow-empty", "-m", test.name)
		followed, err := track(t.Context(), r, test.snippet, test.glob, from, by(t, dir, "rev-parse", "HEAD"))
		var got []string
		for _, f := range followed {
			got = append(got, fmt.Sprintf("%s %s %s", f.Fate, f.Was, f.Now))
		}
		if err != nil || strings.Join(got, ", ") != test.want {
			t.Errorf("%s: %s (%v), want %s", test.name, strings.Join(got, ", "), err, test.want)
		}
	}
	many := commit(t, dir, "many.txt", strings.Repeat("word\n", maxPlaces+1))
	if _, err := track(t.Context(), r, "word", "many.txt", many, many); err == nil {
		t.Errorf("a snippet that is everywhere: %v", err)
	}
}
