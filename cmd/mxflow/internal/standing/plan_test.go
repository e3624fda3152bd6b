package standing

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// A plan is said to be another one only where that is known: what was kept of it has
// no secrets, and what cannot be read may be as it was.
func TestPlanNow(t *testing.T) {
	for name, c := range map[string]struct {
		kept    string            // of a plan of one file
		sources map[string]string // of one that has several
		file    string
		now     map[string]string
		args    []string
		state   string
		want    Plan
	}{
		"as it was":      {kept: "a", now: map[string]string{"p.hcl": "a"}, want: Plan{"p.hcl", AsApplied}},
		"edited":         {kept: "a", now: map[string]string{"p.hcl": "b"}, want: Plan{"p.hcl", Changed}},
		"moved":          {kept: "a", want: Plan{"p.hcl", Missing}},
		"from elsewhere": {kept: "a", file: "../x/p.hcl", now: map[string]string{"p.hcl": "a"}, want: Plan{"p.hcl", AsApplied}},
		"its folder":     {kept: "a", now: map[string]string{"in/p.hcl": "b"}, args: []string{"in"}, want: Plan{"in/p.hcl", Changed}},
		"not in it":      {kept: "a", now: map[string]string{"in/q.hcl": "b"}, args: []string{"in"}, want: Plan{"in/p.hcl", Missing}},
		"another state":  {kept: "a", now: map[string]string{"p.hcl": "b"}, state: "elsewhere", want: Plan{"p.hcl", ""}},
		"had a secret":   {kept: "key [redacted]", now: map[string]string{"p.hcl": "key abcd"}, want: Plan{"p.hcl", ""}},
		"several":        {sources: map[string]string{"p.hcl": "a", "more/q.yaml": "b", "data.csv": "c"}, now: map[string]string{"p.hcl": "a", "more/q.yaml": "b"}, want: Plan{"p.hcl", AsApplied}},
		"one of several": {sources: map[string]string{"p.hcl": "a", "more/q.yaml": "b"}, now: map[string]string{"p.hcl": "a", "more/q.yaml": "x"}, want: Plan{"p.hcl", Changed}},
		"one is gone":    {sources: map[string]string{"p.hcl": "a", "q.hcl": "b"}, now: map[string]string{"p.hcl": "a"}, want: Plan{"p.hcl", Changed}},
		"called alike":   {sources: map[string]string{"in/p.hcl": "a", "lib/p.hcl": "b"}, file: "in/p.hcl", now: map[string]string{"in/p.hcl": "", "lib/p.hcl": "x"}, args: []string{"in/p.hcl"}, want: Plan{"in/p.hcl", Changed}},
		"alike and same": {sources: map[string]string{"in/p.hcl": "", "lib/p.hcl": "b"}, file: "in/p.hcl", now: map[string]string{"in/p.hcl": "", "lib/p.hcl": "b"}, args: []string{"in/p.hcl"}, want: Plan{"in/p.hcl", AsApplied}},
		"below":          {sources: map[string]string{"in/p.hcl": "a", "in/q.hcl": "b", "lib/r.hcl": "c"}, file: "in/p.hcl", now: map[string]string{"in/p.hcl": "", "in/q.hcl": "b", "lib/r.hcl": "x"}, args: []string{"in/p.hcl"}, want: Plan{"in/p.hcl", Changed}},
		"a folder":       {sources: map[string]string{"in/a.hcl": "a", "in/b.hcl": "b"}, file: "in", now: map[string]string{"in/a.hcl": "a", "in/b.hcl": "x"}, args: []string{"in"}, want: Plan{"in", Changed}},
		"within it":      {sources: map[string]string{"in/a.hcl": "a", "in/b.hcl": "b"}, file: "in", now: map[string]string{"a.hcl": "a", "b.hcl": "b"}, want: Plan{".", AsApplied}},
		"one file of it": {kept: "a", file: "in", now: map[string]string{"a.hcl": "b"}, want: Plan{".", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			st, err := store.Open(".mxflow")
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			put := func(text string) string {
				sum, err := st.Put([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				return sum
			}
			kept := c.kept
			if c.sources != nil {
				kept = c.sources["p.hcl"]
			}
			start := &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "test", PlanSource: put(kept)}
			if c.file != "" {
				start.PlanFile = c.file
			}
			for source, text := range c.sources {
				if start.PlanSources == nil {
					start.PlanSources = map[string]string{}
				}
				start.PlanSources[source] = put(text)
			}
			if got := Compare(st, "", nil); got != (Plan{}) {
				t.Errorf("before the first run: %+v", got)
			}
			if err := st.Append(&ledger.Record{Type: "run", Run: "r", Time: time.Now().UTC(), RunStart: start}); err != nil {
				t.Fatal(err)
			}
			for path, text := range c.now {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got := Compare(st, c.state, c.args)
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if said := got.Says("r") != ""; said != (got.State == Changed || got.State == Missing) {
				t.Errorf("%+v: said %v", got, said)
			}
		})
	}
}
