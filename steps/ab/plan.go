package ab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/runtime/store"
)

// Plan is the comparison as a plan, for a file in a folder that may not exist yet; the
// servers are started in workDir.
func (q *Question) Plan(folder, workDir string) ([]byte, error) {
	whole, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Rel(whole, workDir)
	if err != nil {
		return nil, err
	}
	w := &planWriter{}
	w.line("# B against A, as this command compares them:\n#")
	w.line("#   %s", strings.ReplaceAll(q.CommandLine, "\n", " "))
	w.line("\nplan \"ab\" {\nsummary = %s\n}\n", hclText("Whether B ("+strings.Join(strings.Fields(q.Arms[1].Text), " ")+") "+q.Claim.Says(q.Label())))
	w.line("engine %s \"ab\" {", hclText(q.Kind.Name))
	w.text("model", q.Model)
	w.table("env", q.Shape.Env)
	w.list("args", q.Shape.Args)
	if q.Model != "" || len(q.Shape.Env)+len(q.Shape.Args) > 0 {
		w.line("")
	}
	w.line("process {\ncommand = %s", hclList(q.Shape.Command))
	if dir != "." {
		w.text("dir", filepath.ToSlash(dir))
	}
	if q.Port != 0 {
		w.number("port", q.Port)
	}
	w.line("}")
	switch q.Caches {
	case "pinned":
		w.line("caches {\nstate = \"warm\"\ntuning = \"pinned\"\n}")
	case "cold":
		w.line("caches {\nstate = \"cold\"\n}")
	}
	if q.Timeout > 0 {
		w.line("ready {\ntimeout = %s\n}", hclText(q.Timeout.String()))
	}
	w.line("}\n")

	// How A and B differ, and how each proves what it is: evidence of one must not be seen in
	// the other.
	w.line("knob \"ab\" {\ndefault = \"A\"")
	w.list("changes", q.Changes)
	signs := [2][]string{q.MustSeeA, q.MustSeeB}
	for i, name := range []string{"A", "B"} {
		own := q.Shape.Own[i]
		w.line("\nvalue %q {", name)
		w.table("env", own.Env)
		w.list("args", own.Args)
		w.list("command", own.Command)
		not := slices.DeleteFunc(slices.Clone(signs[1-i]), func(g string) bool {
			return slices.ContainsFunc(signs[i], func(mine string) bool { return strings.EqualFold(mine, g) })
		})
		if len(signs[i]) > 0 {
			w.line("must_see {\nlog = %s\n}", hclList(signs[i]))
		}
		if len(not) > 0 {
			w.line("must_not_see {\nlog = %s\n}", hclList(not))
		}
		w.line("}")
	}
	w.line("}\n")

	w.line("workload \"bench\" {")
	w.number("prompt_tokens", q.PP)
	w.number("output_tokens", q.TG)
	if q.Depth > 0 {
		w.number("depth", q.Depth)
	}
	if q.Concurrency > 1 {
		w.number("concurrency", q.Concurrency)
	}
	w.number("requests", q.Requests)
	w.number("warmup", q.Warmup)
	if q.API != "completions" {
		w.text("api", q.API)
	}
	if q.MaxLag > 0 {
		w.text("max_lag", q.MaxLag.String())
	}
	w.line("}\n")

	w.line("protocol \"ab\" {\nlevel \"smoke\" {")
	w.line("pattern = \"[[:alpha:]]{2}\" # any words; answers of B are compared with those of A")
	if q.API != "completions" {
		w.text("api", q.API)
	}
	w.line("}")
	if q.Proves() {
		w.line("level \"kernels\" {}")
	}
	switch least := q.least(); {
	case q.Answers == "unchecked":
		w.line("level \"correctness\" {\nanswers = \"unchecked\"\n}")
	case least > 0:
		w.line("level \"correctness\" {\nmin_agreement = %v\n}", least)
	}
	w.line("level \"benchmark\" {\nworkloads = [workload.bench]")
	w.number("launches", q.Most())
	w.line("}\n}\n\nbaseline {\nengine = engine.%s.ab # with ab = \"A\"\nprotocol = protocol.ab", q.Kind.Name)
	w.list("accept_fingerprint", q.Accept)
	w.line("}\n\nphase \"ab\" {\nfeature \"B\" {\nset = { ab = \"B\" }\n")
	w.line("criterion \"claim\" {\nrule = %s\n}\n}\n}", hclText(q.Claim.Rule()))
	return hclwrite.Format([]byte(w.b.String())), nil
}

// least is the declared agreement of B's answers with A's; 0 if there is none.
func (q *Question) least() float64 {
	if least, err := strconv.ParseFloat(q.Answers, 64); err == nil && least > 0 && least <= 1 {
		return least
	}
	return 0
}

// comparisons is the folder where they are kept, below the working folder.
const comparisons = ".mxflow-ab"

// Place is where a comparison is kept.
type Place struct {
	// Folder holds the plan and the state; Work is where servers are started.
	Folder, Plan, State, Work string
}

// Place is the folder of a comparison: the same for the same commands and work, whatever
// the claim and the number of launches.
func (q *Question) Place(state string) (p Place, err error) {
	if p.Work, err = os.Getwd(); err != nil {
		return p, err
	}
	// Only strings and numbers, which JSON takes.
	what, _ := json.Marshal([]any{q.Arms[0].Text, q.Arms[1].Text, q.URL, q.Asked, q.Model, q.API, q.PP, q.TG, q.Depth, q.Concurrency, q.Requests, q.Warmup, q.Caches})
	sum := sha256.Sum256(what)
	p.Folder = filepath.Join(comparisons, hex.EncodeToString(sum[:4]))
	p.State = filepath.Join(p.Folder, store.DirName)
	if state != "" {
		p.Folder, p.State = state, state
	}
	p.Plan = filepath.Join(p.Folder, "ab.hcl")
	return p, nil
}

// Save writes the plan that is applied. The folder does not belong to the source tree
// around it.
func (at Place) Save(text []byte) error {
	err := os.MkdirAll(at.Folder, 0o755)
	if top := filepath.Dir(at.Folder); err == nil && filepath.Base(top) == comparisons {
		err = os.WriteFile(filepath.Join(top, ".gitignore"), []byte("*\n"), 0o644)
	}
	if err == nil {
		err = os.WriteFile(at.Plan, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot keep the record: %w", err)
	}
	return nil
}

// hclText is a text in HCL syntax, with nothing in it evaluated.
func hclText(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

func hclList(list []string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = hclText(s)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// planWriter lays out blocks; hclwrite aligns their contents.
type planWriter struct{ b strings.Builder }

func (w *planWriter) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// list, table and text write an attribute unless it is empty.
func (w *planWriter) list(name string, list []string) {
	if len(list) > 0 {
		w.line("%s = %s", name, hclList(list))
	}
}

func (w *planWriter) table(name string, m map[string]string) {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, key+" = "+hclText(m[key]))
	}
	if len(parts) > 0 {
		w.line("%s = { %s }", name, strings.Join(parts, ", "))
	}
}

func (w *planWriter) text(name, value string) {
	if value != "" {
		w.line("%s = %s", name, hclText(value))
	}
}

func (w *planWriter) number(name string, n int) { w.line("%s = %d", name, n) }
