package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scaffold"
	"github.com/mxflow/mxflow/internal/try"
)

func TestScaffoldsAreValidAndFormatted(t *testing.T) {
	for i := range 2 * len(scaffold.Kinds()) {
		kind, args, name := scaffold.Kinds()[i/2], []string(nil), "plan.hcl"
		if i%2 == 1 {
			args, name = []string{"--yaml"}, "plan.yaml"
		}
		dir := filepath.Join(t.TempDir(), "new", "port")
		code, out, errs := mxflow(append([]string{"init", "--kind", kind, dir}, args...)...)
		path := filepath.Join(dir, name)
		if code != 0 || !strings.Contains(out, "mxflow validate "+path+"  ") {
			t.Fatalf("%s: exit %d\n%s%s", kind, code, out, errs)
		}
		if code, out, errs = mxflow("validate", path); code != 0 || errs != "" {
			t.Errorf("%s: validate exits %d\n%s%s", kind, code, out, errs)
		}
		if code, out, errs = mxflow("fmt", "--check", path); code != 0 {
			t.Errorf("%s: fmt --check exits %d\n%s%s", kind, code, out, errs)
		}
		if written := try.Read(t, path); strings.Contains(written, "\n\n\n") || strings.Contains(written, "<no value>") {
			t.Errorf("%s:\n%s", kind, written)
		}
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	dir := folder(t, map[string]string{"plan.hcl": "mine"})
	if code, _, errs := mxflow("init", dir); code != 1 || !strings.Contains(errs, "not overwritten") {
		t.Errorf("exit %d: %s", code, errs)
	}
	try.Equal(t, "the plan", try.Read(t, filepath.Join(dir, "plan.hcl")), "mine")
	if code, _, errs := mxflow("init", "--kind", "vlm", dir); code != 1 || !strings.Contains(errs, `Did you mean "vllm"?`) {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// init takes a folder. One that is named like a plan was meant as the file.
func TestInitTakesAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.hcl")
	code, _, errs := mxflow("init", path)
	if code != 1 || !strings.Contains(errs, "mxflow init "+filepath.Dir(path)) {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s: %v", path, err)
	}
}
