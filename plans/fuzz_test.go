package plans

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzLoad checks that no text makes Load panic or hang, that every diagnostic
// can be shown, and that a plan it accepts has a digest that survives loading
// again.
func FuzzLoad(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*valid/*.hcl")
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte("plan \"p\" {}\nlocals {\n a = [for x in [1] : x]\n b = local.a[*]\n c = \"${local.b[0]}\"\n}\n"))
	f.Add([]byte("plan \"p\" {}\nvariable \"v\" {\n type = object({a = optional(string, \"x\")})\n default = {}\n}\n"))
	reg := testRegistry()
	f.Fuzz(func(t *testing.T, src []byte) {
		start := time.Now()
		res := LoadBytes("plan.hcl", src, reg, Options{Vars: map[string]string{"v": "1"}})
		if took := time.Since(start); took > hang {
			t.Fatalf("took %v", took)
		}
		if text := res.text(); strings.Contains(text, "Internal error") {
			t.Fatal(text)
		}
		if _, err := json.Marshal(res.DiagnosticsJSON()); err != nil {
			t.Fatal(err)
		}
		for _, d := range res.Diagnostics {
			if d.Detail == "" {
				t.Errorf("%s does not say how to mend it", d.Summary)
			}
		}
		if res.OK() {
			again := LoadBytes("again.hcl", src, reg, Options{Vars: map[string]string{"v": "1"}})
			if res.Plan.Digest() != again.Plan.Digest() {
				t.Error("the digest changed")
			}
		}
	})
}
