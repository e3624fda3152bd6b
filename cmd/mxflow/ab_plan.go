package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// hclText is a text as HCL writes it, with nothing in it evaluated.
func hclText(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

func hclList(list []string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = hclText(s)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func hclMap(m map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, name+" = "+hclText(m[name]))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// planWriter lays out blocks; hclwrite aligns what stands in them.
type planWriter struct{ b strings.Builder }

func (w *planWriter) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// list, texts and table write an attribute where it holds anything.
func (w *planWriter) list(name string, list []string) {
	if len(list) > 0 {
		w.line("%s = %s", name, hclList(list))
	}
}

func (w *planWriter) table(name string, m map[string]string) {
	if len(m) > 0 {
		w.line("%s = %s", name, hclMap(m))
	}
}

func (w *planWriter) text(name, value string) {
	if value != "" {
		w.line("%s = %s", name, hclText(value))
	}
}

func (w *planWriter) number(name string, n int) { w.line("%s = %d", name, n) }

// plan is the comparison as a plan, for a file in that folder; the servers are
// started in workDir.
func (q *ab) plan(folder, workDir string) ([]byte, error) {
	dir, err := filepath.Rel(folder, workDir)
	if err != nil {
		return nil, err
	}
	w := &planWriter{}
	w.line("# B against A, as this command compares them:\n#")
	w.line("#   %s", strings.ReplaceAll(q.commandLine, "\n", " "))
	w.line("\nplan \"ab\" {\nsummary = %s\n}\n", hclText("Whether B ("+oneLine(q.arms[1].Text)+") "+q.claim.says(q.label())))
	q.planEngine(w, dir)
	q.planKnob(w)
	q.planWorkload(w)
	w.line("protocol \"ab\" {\nlevel \"smoke\" {")
	switch {
	case q.expect != "":
		w.text("expect", q.expect)
	default:
		w.line("pattern = \"[[:alpha:]]{2}\" # any words; answers of B are compared with those of A")
	}
	if q.api != "completions" {
		w.text("api", q.api)
	}
	w.line("}")
	if q.proves() {
		w.line("level \"kernels\" {}")
	}
	w.line("level \"benchmark\" {\nworkloads = [workload.bench]")
	w.number("launches", q.most())
	w.line("}\n}\n\nbaseline {\nengine = engine.%s.ab # with ab = \"A\"\nprotocol = protocol.ab", q.kind.Name)
	w.list("accept_fingerprint", q.accept)
	w.line("}\n\nphase \"ab\" {\nfeature \"B\" {\nset = { ab = \"B\" }\n")
	w.line("criterion \"claim\" {\nrule = %s\n}\n}\n}", hclText(q.claim.rule()))
	return hclwrite.Format([]byte(w.b.String())), nil
}

func (q *ab) planEngine(w *planWriter, dir string) {
	w.line("engine %s \"ab\" {", hclText(q.kind.Name))
	w.text("model", q.model)
	w.table("env", q.shape.Env)
	w.list("args", q.shape.Args)
	if q.model != "" || len(q.shape.Env)+len(q.shape.Args) > 0 {
		w.line("")
	}
	w.line("process {\ncommand = %s", hclList(q.shape.Command))
	if dir != "." {
		w.text("dir", filepath.ToSlash(dir))
	}
	if q.port != 0 {
		w.number("port", q.port)
	}
	w.line("}")
	if state := map[string]string{"own": "warm", "cold": "cold"}[q.caches]; state != "" && q.kind.Name != "embedded" {
		w.line("caches {\nstate = %q\n}", state) // the embedded engine compiles nothing
	}
	if q.timeout > 0 {
		w.line("ready {\ntimeout = %s\n}", hclText(q.timeout.String()))
	}
	w.line("}\n")
}

// planKnob is what A and B differ in, and how each proves what it is: what is a
// sign of one must not be seen of the other.
func (q *ab) planKnob(w *planWriter) {
	w.line("knob \"ab\" {\ndefault = \"A\"")
	w.list("changes", q.changes)
	signs := [2][]string{q.mustSeeA, q.mustSeeB}
	for i, name := range []string{"A", "B"} {
		own := q.shape.Own[i]
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
}

func (q *ab) planWorkload(w *planWriter) {
	w.line("workload \"bench\" {")
	w.number("prompt_tokens", q.pp)
	w.number("output_tokens", q.tg)
	if q.depth > 0 {
		w.number("depth", q.depth)
	}
	if q.concurrency > 1 {
		w.number("concurrency", q.concurrency)
	}
	w.number("requests", q.requests)
	w.number("warmup", q.warmup)
	if q.api != "completions" {
		w.text("api", q.api)
	}
	w.text("coherence", q.coherence)
	if q.maxLag > 0 {
		w.text("max_lag", q.maxLag.String())
	}
	w.line("}\n")
}

// label is the cell as the field names it: "pp2048 tg32 @ d4096 c4".
func (q *ab) label() string {
	name := q.claim.Metric.Name
	switch name {
	case "tg", "tg_total":
		name = strings.Replace(name, "tg", "tg"+strconv.Itoa(q.tg), 1)
	case "pp", "pp_total":
		name = strings.Replace(name, "pp", "pp"+strconv.Itoa(q.pp), 1)
	}
	return name + q.load()
}

// load is what stands behind a metric's name: depth and requests at once.
func (q *ab) load() (text string) {
	if q.depth > 0 {
		text += fmt.Sprintf(" @ d%d", q.depth)
	}
	if q.concurrency > 1 {
		text += fmt.Sprintf(" c%d", q.concurrency)
	}
	return text
}

// proves reports whether anything is to be seen in the logs.
func (q *ab) proves() bool { return len(q.mustSeeA)+len(q.mustSeeB) > 0 }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
