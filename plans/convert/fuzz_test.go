package convert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/planstest"
)

// FuzzLoadYAML checks that no text makes Load panic or hang, that every diagnostic can be
// shown and has a place in the file, and that an accepted plan is the same plan in HCL.
func FuzzLoadYAML(f *testing.F) {
	reg := planstest.Registry()
	paths, _ := filepath.Glob("../load/testdata/*valid_yaml/*.yaml")
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	inHCL, _ := filepath.Glob("../load/testdata/*valid/*.hcl")
	for _, path := range inHCL {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if out, res := ToYAML(path, src, reg); res == nil {
			f.Add(out)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		start := time.Now()
		res := load.Bytes("plan.yaml", src, reg, load.Options{})
		text := planstest.Text(&res.Findings)
		if strings.Contains(text, "Internal error") {
			t.Fatal(text)
		}
		lines := strings.Count(string(src), "\n") + 1
		for _, d := range res.Diagnostics {
			if d.Detail == "" {
				t.Errorf("%s does not say how to mend it", d.Summary)
			}
			if s := d.Subject; s != nil && (s.Start.Line < 1 || s.Start.Line > lines || s.Start.Column < 1 || s.End.Byte < s.Start.Byte || s.End.Byte > len(src)) {
				t.Errorf("%s is at %v", d.Summary, s)
			}
		}
		out, problems := ToHCL("plan.yaml", src, reg)
		if took := time.Since(start); took > planstest.Hang {
			t.Fatalf("took %v", took)
		}
		if !res.OK() {
			return
		}
		if problems != nil {
			t.Fatalf("valid, but cannot be converted: %s", planstest.Text(problems))
		}
		back := load.Bytes("plan.hcl", out, reg, load.Options{})
		if !back.OK() {
			t.Fatalf("%s\n%s", planstest.Text(&back.Findings), out)
		}
		if back.Plan.Digest() != res.Plan.Digest() {
			t.Errorf("is another plan in HCL:\n%s", out)
		}
	})
}
