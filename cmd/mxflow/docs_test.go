package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/quality"
	"github.com/mxflow/mxflow/steps/remote"
)

var update = flag.Bool("update", false, "rewrite generated docs")

// TestDocs keeps the generated parts of pages in step with the code.
func TestDocs(t *testing.T) {
	for _, part := range []struct{ page, name, want string }{
		{"measuring.md", "metrics", metricsPart()},
		{"language.md", "blocks", blocksPart()},
		{"language.md", "functions", functionsPart()},
	} {
		path := filepath.Join("../../docs", part.page)
		page := try.Read(t, path)
		begin := "<!-- generated: " + part.name + ": go test ./cmd/mxflow -run TestDocs -update -->\n\n"
		before, rest, began := strings.Cut(page, begin)
		got, after, ended := strings.Cut(rest, "\n<!-- end of "+part.name+" -->\n")
		if !began || !ended {
			t.Fatalf("%s has no place for %s: %s…<!-- end of %s -->", path, part.name, begin, part.name)
		}
		switch {
		case got == part.want:
		case *update:
			text := before + begin + part.want + "\n<!-- end of " + part.name + " -->\n" + after
			try.Write(t, path, text)
		default:
			t.Errorf("%s of %s is out of date: go test ./cmd/mxflow -run TestDocs -update", part.name, path)
		}
	}
}

// metricsPart lists the metrics, each with the first sentence of its definition.
func metricsPart() string {
	var b strings.Builder
	scope := measure.Scope("")
	for _, m := range measure.Catalogue() {
		if m.Scope != scope {
			scope = m.Scope
			fmt.Fprintf(&b, "\n### %s\n\n", map[measure.Scope]string{
				measure.PerRequest: "Of each request", measure.PerCell: "Of each cell of a workload",
				measure.PerLaunch: "Of each launch", measure.PerGPU: "Of the GPUs", measure.PerHost: "Of the host",
			}[scope])
		}
		name, definition := strings.TrimPrefix(m.Path(), "<workload>."), m.Definition
		better := ""
		if m.Better != "" {
			better = ", " + string(m.Better)
		}
		fmt.Fprintf(&b, "- `%s` (%s%s): %s\n", name, m.Unit, better, sentences(definition, 1))
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// sentences are the first n sentences of a text. One ends with a full stop before a
// capital letter or a backquote, so "e.g. this" and "0.5" do not.
func sentences(text string, n int) string {
	for i := 0; i+2 < len(text); i++ {
		if text[i] != '.' || text[i+1] != ' ' {
			continue
		}
		if next := text[i+2]; next != '`' && (next < 'A' || next > 'Z') {
			continue
		}
		if n--; n == 0 {
			return text[:i+1]
		}
	}
	return text
}

// TestPagesStateLimits: numbers that pages state are those of the code.
func TestPagesStateLimits(t *testing.T) {
	usual, requests := plans.UsualDecision(), func(stat string) int { return measure.StatOf(stat).Decide }
	questions := 1
	for stats.PairedDrop(0, 0, questions) > quality.UsualDrop/100. {
		questions++
	}
	openai, _ := kinds.Lookup("openai")
	percentiles := fmt.Sprintf("(p90 %d, p95 %d, p99 %d)", requests("p90"), requests("p95"), requests("p99"))
	for page, sentences := range map[string][]string{
		"statistics.md": {percentiles},
		"rules.md": {
			percentiles, fmt.Sprintf("false_pass = %v ", usual.FalsePass), fmt.Sprintf("false_fail = %v ", usual.FalseFail),
			fmt.Sprintf("{ min = %d, max = %d } # of each arm; max up to %d", usual.Min, usual.Max, stats.MostLaunches),
			fmt.Sprintf("(%d while no launch noise is on record)", plans.FirstLook),
		},
		"protocol.md":    {fmt.Sprintf("Too few questions for `max_drop` (%d for %d points)", questions, quality.UsualDrop)},
		"ab.md":          {fmt.Sprintf("(%d; from 4 to %d)", usual.Max, stats.MostLaunches)},
		"executors.md":   {fmt.Sprintf("`the worker went silent` (for %.0f s)", remote.Silence.Seconds())},
		"your-server.md": {fmt.Sprintf("more than %.0f minutes to load", openai.DefaultReadyTimeout.Minutes())},
	} {
		for _, s := range sentences {
			if !strings.Contains(evenly(try.Read(t, "../../docs/"+page)), s) {
				t.Errorf("%s does not state: %s", page, s)
			}
		}
	}
	rows, n := regexp.MustCompile(`(?m)^\| (\w+) \| .* \| (yes|no) \| (\d) \|$`), 0
	for _, m := range rows.FindAllStringSubmatch(try.Read(t, "../../docs/concepts.md"), -1) {
		n++
		v := verdict.Verdict(m[1])
		if !v.Known() || v.Unlocks() != (m[2] == "yes") || fmt.Sprint(v.ExitCode()) != m[3] {
			t.Errorf("docs/concepts.md: %s unlocks %t and exits with %d", v, v.Unlocks(), v.ExitCode())
		}
	}
	if n != 6 {
		t.Errorf("docs/concepts.md has %d verdicts", n)
	}
}

// TestReadmePlan: the plan that the README shows is a whole one.
func TestReadmePlan(t *testing.T) {
	if res := load.Bytes("README.md", []byte(blocks(t, "../README.md", "hcl")[0]), steps.Registry(), load.Options{}); !res.OK() {
		t.Error(res.Diagnostics)
	}
}

// enginesExamples are the plans that the manual of engines shows. One without a
// plan block is the part that matters, and gets one.
func enginesExamples(t *testing.T) (list []string) {
	t.Helper()
	// A key stands in the environment.
	t.Setenv("MXFLOW_VAR_key", "a-key-of-the-test")
	for _, text := range blocks(t, "engines.md", "hcl") {
		if !strings.Contains("\n"+text, "\nplan \"") {
			text = "plan \"shown\" {}\n" + text
		}
		list = append(list, text)
	}
	if len(list) < 10 {
		t.Fatalf("only %d examples were found: the search is wrong", len(list))
	}
	return list
}

// blocksPart is the reference of the plan language: an outline, then each block.
func blocksPart() string {
	var b strings.Builder
	doc := load.Describe(steps.Registry())
	b.WriteString("```\n")
	outline(&b, doc, 0)
	b.WriteString("```\n\n")
	printed := make(map[string]string)
	for _, block := range doc.Blocks {
		blockSection(&b, "", block, printed)
	}
	repetition(&b, doc)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// functionsPart names the functions of expressions.
func functionsPart() string {
	return fmt.Sprintf("`%s`\n\n`file(path)` reads UTF-8 text of at most %d MiB below the plan's folder; what it reads is part of the plan's digest.\n",
		strings.Join(inOrder(eval.NewScope("").Functions()), "`, `"), eval.MaxFile>>20)
}

// repetition is the section on what generates blocks.
func repetition(b *strings.Builder, doc *lang.BlockDoc) {
	var words []string
	var attrs []plans.Attr
	doc.Walk(func(path string, d *lang.BlockDoc) {
		if d.Repeats && (len(words) == 0 || words[len(words)-1] != "`"+d.Type+"`") {
			words, attrs = append(words, "`"+d.Type+"`"), d.RepeatAttrs()
		}
	})
	fmt.Fprintf(b, "### Repeated blocks\n\nBlocks of type %s also have these attributes ([rules](#for_each-and-dynamic)):\n\n", strings.Join(words, ", "))
	attrList(b, "", attrs, map[string]string{})
	fmt.Fprintf(b, "```hcl\n%s\n```\n\n", eachExample)
	b.WriteString("Blocks within another one are made by `dynamic`; its content has the element under\nthe name of the block's type:\n\n")
	fmt.Fprintf(b, "```hcl\n%s\n```\n", dynamicExample)
}

const (
	eachExample = `workload "depth" {
  for_each      = { short = 512, long = 8192 } # makes depth_short and depth_long
  prompt_tokens = each.value
  output_tokens = 32
}`
	dynamicExample = `knob "batch" {
  default = "b8"

  dynamic "value" {
    for_each = [8, 16, 32]
    labels   = ["b${value.value}"]
    content {
      args = ["--batch", tostring(value.value)]
      must_see {
        log = ["*batch size ${value.value}*"]
      }
    }
  }
}`
)

// outline shows which block stands in which.
func outline(b *strings.Builder, d *lang.BlockDoc, depth int) {
	for _, block := range d.Blocks {
		mark := map[plans.Times]string{plans.Once: " 1", plans.AtLeast1: " +", plans.AtMost1: " ?"}[block.Times]
		fmt.Fprintf(b, "%s%s%s\n", strings.Repeat("  ", depth), header(block), mark)
		outline(b, block, depth+1)
	}
}

// header is a block's first line without the brace.
func header(d *lang.BlockDoc) string {
	text := d.Type
	for _, label := range d.Labels {
		text += fmt.Sprintf(" %q", label.Name)
	}
	return text
}

// blockSection describes a block and those in it. Which stand in it, and how often,
// is in the outline. Printed are the lines of attributes so far, with their block's header.
// Only blocks at the top of a plan are shown with an example, unless the page's whole plan
// has all of it.
func blockSection(b *strings.Builder, parent string, d *lang.BlockDoc, printed map[string]string) {
	title := "### "
	if parent != "" {
		title = "#### "
	}
	fmt.Fprintf(b, "%s%s\n\n%s\n\n", title, header(d), sentences(d.Doc, 1))
	if parent == "" && d.Example != "" && !slices.Contains([]string{"plan", "locals", "baseline", "phase"}, d.Type) {
		fmt.Fprintf(b, "```hcl\n%s\n```\n\n", d.Example)
	}
	attrs := d.Attrs
	if d.Open != nil {
		attrs = append(slices.Clone(attrs), *d.Open)
	}
	attrList(b, strings.TrimPrefix(parent+"."+d.Type, "."), attrs, printed)
	if d.Type != "engine" { // of these, mxflow engine kinds lists the settings
		for _, kind := range inOrder(d.Kinds) {
			k := d.Kinds[kind]
			of := fmt.Sprintf("%s %q", d.Type, kind)
			for _, label := range k.Labels[1:] {
				of += fmt.Sprintf(" %q", label.Name)
			}
			fmt.Fprintf(b, "#### %s\n\n%s\n\n", of, sentences(k.Doc, 1))
			attrList(b, d.Type+"."+kind, k.Attrs, printed)
			for _, block := range k.Blocks {
				blockSection(b, d.Type, block, printed)
			}
		}
	}
	for _, block := range d.Blocks {
		blockSection(b, d.Type, block, printed)
	}
}

// attrList writes a line for each attribute, with the first sentence of its text; the JSON
// Schema has the whole text and the bounds. Two or more lines that an earlier block has
// word for word, or one that a block of the same type has, are named, and not repeated.
func attrList(b *strings.Builder, block string, attrs []plans.Attr, printed map[string]string) {
	var lines strings.Builder
	kind, _, _ := strings.Cut(block, ".")
	again := make(map[string][]string)
	line := make(map[string]string)
	for _, a := range attrs {
		unbounded := a
		unbounded.MinSet = false
		head := strings.TrimPrefix(unbounded.TypeText(), "list of ")
		if a.Type == plans.String {
			head = strings.TrimPrefix(head, string(plans.String))
		}
		switch {
		case a.Required:
			head += ", required"
		case a.Default != nil:
			text, _ := json.Marshal(a.Default)
			head += ", default `" + string(text) + "`"
		}
		if head = strings.TrimLeft(head, ":, "); head != "" {
			head = " (" + head + ")"
		}
		line[a.Name] = "- `" + a.Name + "`" + head + ": " + sentences(a.Doc, 1) + "\n"
		if of := printed[line[a.Name]]; of != "" {
			again[of] = append(again[of], a.Name)
		}
	}
	for _, a := range attrs {
		text := line[a.Name]
		if of := printed[text]; of == "" || len(again[of]) == 1 && !strings.HasPrefix(of, kind+".") {
			lines.WriteString(text)
			printed[text] = block
			delete(again, of)
		}
	}
	for _, of := range inOrder(again) {
		fmt.Fprintf(&lines, "- `%s`: as in `%s`.\n", strings.Join(again[of], "`, `"), of)
	}
	if len(attrs) > 0 {
		b.WriteString(lines.String() + "\n")
	}
}

// TestFirstSentences: what pages print of a block, an attribute and a metric is short.
func TestFirstSentences(t *testing.T) {
	short := func(what, doc string, most int) {
		if said := sentences(doc, 1); len(strings.Fields(said)) > most || !strings.HasSuffix(said, ".") {
			t.Errorf("%s: the first sentence has more than %d words, or no full stop: %s", what, most, said)
		}
	}
	var check func(path string, d *lang.BlockDoc)
	check = func(path string, d *lang.BlockDoc) {
		short(path, d.Doc, 16)
		for _, a := range slices.Concat(d.Attrs, d.RepeatAttrs()) {
			short(path+" "+a.Name, a.Doc, 10)
		}
		for kind, body := range d.Kinds {
			if d.Type != "engine" { // mxflow engine kinds prints these
				check(path+" "+kind, body)
			}
		}
		for _, block := range d.Blocks {
			check(path+" "+block.Type, block)
		}
	}
	check("", load.Describe(steps.Registry()))
	for _, m := range measure.Catalogue() {
		short(m.Path(), m.Definition, 15)
	}
}

func inOrder[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// TestMeasuringManual: what the manual of measuring shows, taken together, is a
// valid plan.
func TestMeasuringManual(t *testing.T) {
	text := "plan \"shown\" {}\n" + strings.Join(blocks(t, "measuring.md", "hcl"), "\n")
	path := filepath.Join(manualFolder(t), "measuring.hcl")
	res := load.Bytes(path, []byte(text), steps.Registry(), load.Options{Inputs: []load.Given{}})
	if !res.OK() {
		t.Fatalf("%s\n%v", text, res.Diagnostics)
	}
	runs := plans.Find(res.Plan.Imported, func(i *plans.Imported) bool { return i.Name == "runs" })
	if m, ok := runs.Result.Lookup("long", "tg"); !ok || m.Stats["value"] != 20 || m.Unit != "tok/s" {
		t.Errorf("the jq program of the manual reads %+v", runs.Result)
	}
}

// TestDocsNameCommands: what a page has people type is there: each command, and each of its
// flags.
func TestDocsNameCommands(t *testing.T) {
	pages := globbed("../../*.md", "../../docs/*.md", "../../examples/*/*.md", "../../examples/*/plan.*")
	root := newRootCommand(&app{})
	typed := regexp.MustCompile("(?:`|^\\$ |^#   )mxflow ([^`\\n|>#]*)")
	quoted, n := regexp.MustCompile(`'[^']*'`), 0
	for _, page := range pages {
		for line := range strings.Lines(try.Read(t, page)) {
			for _, m := range typed.FindAllStringSubmatch(line, -1) {
				words := strings.Fields(quoted.ReplaceAllString(m[1], "QUOTED"))    // a server's own flags are not ours
				if len(words) == 0 || words[0] == "=" || words[0] == "completion" { // an attribute; cobra's own command
					continue
				}
				c, rest, err := root.Find(words)
				if err != nil || c == root && !strings.HasPrefix(words[0], "-") {
					t.Errorf("%s: there is no command %q", page, m[1])
					continue
				}
				n++
				for _, word := range rest {
					name, is := strings.CutPrefix(strings.TrimRight(word, ",.;:)"), "--")
					if name, _, _ = strings.Cut(name, "="); is && name != "" && name != "help" && name != "version" && c.Flag(name) == nil {
						t.Errorf("%s: %s has no flag --%s", page, c.CommandPath(), name)
					}
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d commands were found", n)
	}
	// So is a flag that a page names without its command, or it is another program's.
	flags, n := map[string]bool{
		"help": true, "ipc": true, "enable-prompt-tokens-details": true, "cpus-per-task": true, "exclusive": true,
		"container-image": true, "cuda-graph-trace": true,
	}, 0
	var collect func(*cobra.Command)
	collect = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		for _, sub := range c.Commands() {
			collect(sub)
		}
	}
	collect(root)
	alone := regexp.MustCompile("[^`]`--([a-z]+(?:-[a-z]+)*)[^`]*`")
	for _, page := range pages {
		for _, m := range alone.FindAllStringSubmatch(try.Read(t, page), -1) {
			if n++; !flags[m[1]] {
				t.Errorf("%s: no command has a flag --%s", page, m[1])
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d flags were found", n)
	}
	// So is a function that a page has people call in a plan.
	functions, n := eval.NewScope("").Functions(), 0
	called := regexp.MustCompile("`([a-z_]+)\\([^`]*\\)`|`(file_[a-z]+)`")
	for _, page := range pages {
		for _, m := range called.FindAllStringSubmatch(try.Read(t, page), -1) {
			name := m[1] + m[2]
			switch n++; name {
			case "list", "map", "object", "optional", "key_averages", "select": // types; Python's; Linux'
			default:
				if _, is := functions[name]; !is {
					t.Errorf("%s: there is no function %s", page, name)
				}
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d functions were found", n)
	}
}
