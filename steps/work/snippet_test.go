package work

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// commit writes a file and commits it, and returns the commit.
func commit(t *testing.T, dir, name, text string) string {
	t.Helper()
	must.Write(t, filepath.Join(dir, name), text)
	must.Git(t, dir, "add", name)
	must.Git(t, dir, "commit", "-qm", "change "+name)
	return must.Git(t, dir, "rev-parse", "HEAD")
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	must.Git(t, dir, "init", "-q")
	r, err := source.OpenRepo(t.Context(), dir)
	must.Do(t, err)
	text := func(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
	const granularity = "constexpr int kSm12xBlockScaleGranularity = 128;"
	must.Write(t, filepath.Join(dir, "csrc/sm12x_a.cuh"), text("// a", "  "+granularity, "int x;"))
	must.Write(t, filepath.Join(dir, "csrc/sm12x_b.cuh"), text("namespace {", "\t"+granularity, "}"))
	must.Write(t, filepath.Join(dir, "csrc/other.cu"), text(granularity))
	must.Git(t, dir, "add", "-A")
	from := commit(t, dir, "core.py",
		text("import x", "def cutlass_fused_moe(a,", "                      b):", "  return 1", "pass", "pass"))
	const snippet = "kSm12xBlockScaleGranularity  = 128"

	for _, test := range []struct {
		name          string
		change        func()
		snippet, glob string
		want          string
	}{
		{
			"nothing changed", func() {}, snippet, "csrc/sm12x_*.cuh",
			"still csrc/sm12x_a.cuh:2 csrc/sm12x_a.cuh:2, still csrc/sm12x_b.cuh:2 csrc/sm12x_b.cuh:2",
		},
		{"in no such file", func() {}, snippet, "*.py", ""},
		{"nowhere", func() {}, "kSm13x", "csrc/*", ""},
		{"lines", func() {}, "def cutlass_fused_moe(a,\n  b):\n", "core.py", "still core.py:2 core.py:2"},
		{"lines in another order", func() {}, "b):\ndef cutlass_fused_moe(a,", "core.py", ""},
		{"further down", func() {
			must.Write(t, filepath.Join(dir, "csrc/sm12x_a.cuh"), text("// a", "// more", "  "+granularity, "int x;"))
		}, snippet, "csrc/sm12x_a.cuh", "moved csrc/sm12x_a.cuh:2 csrc/sm12x_a.cuh:3"},
		{
			"in another file", func() {
				must.Write(t, filepath.Join(dir, "csrc/sm12x_a.cuh"), text("// a"))
				must.Write(t, filepath.Join(dir, "include/scale.cuh"), text("", "", granularity))
				must.Write(t, filepath.Join(dir, "csrc/other.cu"), text("//"))
			}, snippet, "csrc/sm12x_*.cuh",
			"moved csrc/sm12x_a.cuh:2 include/scale.cuh:3, still csrc/sm12x_b.cuh:2 csrc/sm12x_b.cuh:2",
		},
		{"another number", func() {
			must.Write(t, filepath.Join(dir, "include/scale.cuh"), text(""))
			must.Write(t, filepath.Join(dir, "csrc/sm12x_a.cuh"),
				text("int y;", "// a", strings.Replace(granularity, "128", "64", 1)))
		}, snippet, "csrc/sm12x_a.cuh", "gone csrc/sm12x_a.cuh:2 :0"},
		{"renamed in part", func() {
			must.Write(t, filepath.Join(dir, "core.py"),
				text("import x", "", "def cutlass_moe_fused_v2(a, c,", "   b):"))
		}, "def cutlass_fused_moe(a,", "core.py", "gone core.py:2 :0"},
		{"gone with its file", func() {
			must.Git(t, dir, "rm", "-q", "core.py")
		}, "def cutlass_fused_moe(a,", "core.py", "gone core.py:2 :0"},
		{
			"gone from its file", func() {
				must.Write(t, filepath.Join(dir, "csrc/sm12x_a.cuh"), text("nothing of it"))
			},
			snippet, "csrc/sm12x_a.cuh", "gone csrc/sm12x_a.cuh:2 :0",
		},
	} {
		test.change()
		must.Git(t, dir, "add", "-A")
		must.Git(t, dir, "commit", "-q", "--allow-empty", "-m", test.name)
		followed, err := track(t.Context(), r, test.snippet, test.glob, from, must.Git(t, dir, "rev-parse", "HEAD"))
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
