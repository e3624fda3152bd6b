package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/yamlbody"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/launch/remote"
	"github.com/mxflow/mxflow/steps/levels/quality"
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
		page := must.Read(t, path)
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
			must.Write(t, path, text)
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
			percentiles, fmt.Sprintf("false_pass = %v ", usual.FalsePass),
			fmt.Sprintf("false_fail = %v ", usual.FalseFail),
			fmt.Sprintf("{ min = %d, max = %d } # of each arm; max up to %d", usual.Min, usual.Max, stats.MostLaunches),
			fmt.Sprintf("(%d while no launch noise is on record)", plans.FirstLook),
		},
		"protocol.md": {fmt.Sprintf("Too few questions for `max_drop` (%d for %d points)", questions,
			quality.UsualDrop)},
		"ab.md":          {fmt.Sprintf("(%d; from 4 to %d)", usual.Max, stats.MostLaunches)},
		"executors.md":   {fmt.Sprintf("`the worker went silent` (for %.0f s)", remote.Silence.Seconds())},
		"your-server.md": {fmt.Sprintf("more than %.0f minutes to load", openai.DefaultReadyTimeout.Minutes())},
	} {
		for _, s := range sentences {
			must.Contain(t, page, evenly(must.Read(t, "../../docs/"+page)), s)
		}
	}
	rows, n := regexp.MustCompile(`(?m)^\| (\w+) \| .* \| (yes|no) \| (\d) \|$`), 0
	for _, m := range rows.FindAllStringSubmatch(must.Read(t, "../../docs/concepts.md"), -1) {
		n++
		v := verdict.Verdict(m[1])
		if !v.Known() || v.Unlocks() != (m[2] == "yes") || fmt.Sprint(v.ExitCode()) != m[3] {
			t.Errorf("docs/concepts.md: %s unlocks %t and exits with %d", v, v.Unlocks(), v.ExitCode())
		}
	}
	must.Equal(t, "verdicts of docs/concepts.md", n, 6)
}

// TestReadmePlan: the plan that the README shows is a whole one.
func TestReadmePlan(t *testing.T) {
	if res := load.Bytes("README.md", []byte(blocks(t, "../README.md", "hcl")[0]), steps.Registry(),
		load.Options{}); !res.OK() {
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
	return fmt.Sprintf("`%s`\n\n`file(path)` reads UTF-8 text of at most %d MiB below the plan's folder; what it "+
		"reads is part of the plan's digest.\n",
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
	fmt.Fprintf(b,
		"### Repeated blocks\n\nBlocks of type %s also have these attributes ([rules](#for_each-and-dynamic)):\n\n",
		strings.Join(words, ", "))
	attrList(b, "", attrs, map[string]string{})
	fmt.Fprintf(b, "```hcl\n%s\n```\n\n", eachExample)
	b.WriteString("Blocks within another one are made by `dynamic`; its content has the element under\nthe name of " +
		"the block's type:\n\n")
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
		for line := range strings.Lines(must.Read(t, page)) {
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
					if name, _, _ = strings.Cut(name, "="); is && name != "" && name != "help" && name != "version" &&
						c.Flag(name) == nil {
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
		for _, m := range alone.FindAllStringSubmatch(must.Read(t, page), -1) {
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
		for _, m := range called.FindAllStringSubmatch(must.Read(t, page), -1) {
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

// TestTutorials follows the pages that write a plan block after block: together they are
// a plan without mistakes, and plan says how many launches it takes.
func TestTutorials(t *testing.T) {
	for page, launches := range map[string]string{
		"tutorial.md":      "11 to 19 launches",
		"your-server.md":   "11 to 19 launches",
		"port-a-kernel.md": "12 to 20 launches",
	} {
		path := filepath.Join(t.TempDir(), "plan.hcl")
		must.Write(t, path, strings.Join(blocks(t, page, "hcl"), "\n"))
		res := load.Path(path, steps.Registry(), load.Options{})
		if len(res.Diagnostics) > 0 {
			t.Errorf("%s: %v", page, res.Diagnostics)
			continue
		}
		if status, out, errs := mxflow("plan", path); status != 0 || !strings.Contains(out, launches) {
			t.Errorf("%s: plan exits %d and says:\n%s%s", page, status, out, errs)
		}
	}
}

// inBoth is a block in HCL of the tutorial, with what follows it.
var inBoth = regexp.MustCompile(
	"(?s)```hcl\n(.*?)```\n(\n<details><summary>In YAML</summary>\n\n```yaml\n.*?```\n\n</details>\n)?")

// TestTutorialInYAML: each block of the tutorial is there in both syntaxes, and those in YAML
// are the same plan. -update writes them.
func TestTutorialInYAML(t *testing.T) {
	const path = "../../docs/tutorial.md"
	names, page := load.Names(steps.Registry()), must.Read(t, path)
	want := inBoth.ReplaceAllStringFunc(page, func(block string) string {
		hcl := inBoth.FindStringSubmatch(block)[1]
		text, err := yamlbody.FromHCL([]byte(hcl), func(attr string) bool { return names[attr] })
		must.Do(t, err)
		return "```hcl\n" + hcl + "```\n\n<details><summary>In YAML</summary>\n\n```yaml\n" + string(text) +
			"```\n\n</details>\n"
	})
	if page != want && *update {
		must.Write(t, path, want)
	} else if page != want {
		t.Errorf("%s has other blocks in YAML (go test ./cmd/mxflow -run TestTutorialInYAML -update writes them)", path)
	}
	plan := func(syntax, name string) string {
		text := strings.Join(blocks(t, "tutorial.md", syntax), "\n")
		res := load.Bytes(name, []byte(text), steps.Registry(), load.Options{})
		if len(res.Diagnostics) > 0 {
			t.Fatalf("%s: %v", name, res.Diagnostics)
		}
		return res.Plan.Digest()
	}
	must.Equal(t, "the plan in YAML is another one", plan("hcl", "plan.hcl"), plan("yaml", "plan.yaml"))
}

// TestLinks: every relative link of a page leads to a file, and to a heading in it where
// it names one.
func TestLinks(t *testing.T) {
	pages := globbed("../../*.md", "../../docs/*.md", "../../docs/*/*.md", "../../docs/*/*/*.md",
		"../../examples/*/*.md")
	if len(pages) < 20 {
		t.Fatalf("only %d pages were found: the search is wrong", len(pages))
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(must.Read(t, page), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			name, heading, _ := strings.Cut(m[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", page, m[1])
			} else if heading != "" && !slices.Contains(headings(must.Read(t, target)), heading) {
				t.Errorf("%s: %s names no heading of %s", page, m[1], target)
			}
		}
	}
}

// globbed are the files that match patterns.
func globbed(patterns ...string) (files []string) {
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	return files
}

// headings are the anchors of a page, as GitHub makes them.
func headings(page string) (list []string) {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.Lines(page) {
		if title := strings.TrimLeft(line, "#"); title != line {
			anchor := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			list = append(list, strings.ReplaceAll(anchor, " ", "-"))
		}
	}
	return list
}

// TestMission: the working papers ask for 107 things. The page has each once, what it names as
// shown is there, and the commands that it names work here.
func TestMission(t *testing.T) {
	root := filepath.Join("..", "..")
	page := must.Read(t, filepath.Join(root, "docs", "internals", "mission.md"))
	seen, rows := map[int]bool{}, 0
	shown := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[0]) == "#" {
			continue
		}
		rows++
		for _, number := range strings.Split(cells[0], ",") {
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil || n < 1 || n > 107 || seen[n] {
				t.Errorf("%q is no number of a requirement, or is there twice", number)
			}
			seen[n] = true
		}
		state, by := strings.TrimSpace(cells[2]), shown.FindAllStringSubmatch(cells[3], -1)
		begins, _, _ := strings.Cut(strings.Fields(state + " -")[0], ":")
		if len(by) == 0 || !slices.Contains([]string{"works", "works;", "partly", "not"}, begins) {
			t.Errorf("%s: %q is no state, or nothing shows it", cells[0], state)
		}
		for _, m := range by {
			if why := shows(t, root, m[1]); why != "" {
				t.Errorf("%s: %s %s", strings.TrimSpace(cells[0]), m[1], why)
			}
		}
	}
	if len(seen) != 107 || rows > 90 {
		t.Errorf("%d of 107 requirements in %d rows", len(seen), rows)
	}
}

// shows is why what a row names shows nothing; empty if it does.
func shows(t *testing.T, root, what string) string {
	kind, name, _ := strings.Cut(what, ":")
	there := func(path string) string {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			return "is not there"
		}
		return ""
	}
	switch {
	case strings.HasPrefix(what, "mxflow "):
		args := strings.Fields(what)[1:]
		for i, arg := range args {
			if strings.HasPrefix(arg, "examples/") {
				args[i] = filepath.Join(root, arg)
			}
		}
		if args[0] == "plan" {
			args = append(args, "--state", t.TempDir())
		}
		if code, out, errs := mxflow(args...); code != 0 {
			return "ends with " + strconv.Itoa(code) + ": " + out + errs
		}
		return ""
	case kind == "script":
		if scenario.Path(name) == "" {
			return "is not there"
		}
		return ""
	case kind == "example":
		return there("examples/" + name + "/plan.hcl")
	case kind == "test":
		files, _ := filepath.Glob(filepath.Join(root, filepath.Dir(name), "*_test.go"))
		for _, file := range files {
			if strings.Contains(must.Read(t, file), "\nfunc "+filepath.Base(name)+"(t *testing.T)") {
				return ""
			}
		}
		return "is not there"
	case kind == "module":
		direct := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(name) + ` v\S+$`)
		if !direct.MatchString(must.Read(t, filepath.Join(root, "go.mod"))) {
			return "is no direct dependency"
		}
		for _, pattern := range []string{"*/*.go", "*/*/*.go", "*/*/*/*.go"} {
			files, _ := filepath.Glob(filepath.Join(root, pattern))
			for _, file := range files {
				if !strings.HasSuffix(file, "_test.go") && strings.Contains(must.Read(t, file), `"`+name) {
					return ""
				}
			}
		}
		return "is imported by no code"
	}
	return "is nothing that shows"
}

// blocks are the examples of a page in one language.
func blocks(t *testing.T, page, language string) (list []string) {
	t.Helper()
	for _, part := range strings.Split(must.Read(t, filepath.Join("../../docs", page)), "```"+language+"\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatalf("an example of %s is not closed", page)
		}
		list = append(list, block)
	}
	return list
}

// TestReportsPage follows docs/reports.md: its commands print what it shows, its feature
// is one, and its keep region stays.
func TestReportsPage(t *testing.T) {
	t.Parallel()
	shown := map[string][]string{}
	for _, language := range []string{"console", "hcl", "markdown"} {
		shown[language] = blocks(t, "reports.md", language)
	}
	dir := t.TempDir()
	plan := must.Read(t, "testdata/plans/tiny.hcl")
	must.Write(t, filepath.Join(dir, "plan.hcl"), plan)
	mxflow := func(args ...string) (int, string) { return program(t, dir, nil, args...) }
	if status, out := mxflow("apply", "--var", "launches=1", "plan.hcl"); status != 3 {
		t.Fatalf("apply ends with %d:\n%s", status, out)
	}
	session := regexp.MustCompile(`s-[0-9a-f]{10}`)
	follow := func(block string) {
		for _, part := range strings.Split(block, "$ mxflow ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			if _, out := mxflow(strings.Fields(command)...); session.ReplaceAllString(out,
				"S") != session.ReplaceAllString(want, "S") {
				t.Errorf("mxflow %s prints\n%sand docs/reports.md has\n%s", command, out, want)
			}
		}
	}
	consoles, features, regions := shown["console"], shown["hcl"], shown["markdown"]
	if len(consoles) != 1 || len(features) != 2 || len(regions) != 1 {
		t.Fatalf("%d, %d and %d examples", len(consoles), len(features), len(regions))
	}
	if res := load.Bytes("plan.hcl",
		[]byte(inPlan("", strings.Replace(features[0], "levels.correctness.kl", "levels.kernels", 1))),
		steps.Registry(), load.Options{}); !res.OK() {
		t.Errorf("the columns of the page are refused: %s", explained(&res.Findings))
	}
	follow(consoles[0])
	results := filepath.Join(dir, "docs", "BENCHMARK_RESULTS.md")
	text := must.Read(t, results)
	// What it has of a feature is on the feature's page, to the digit.
	row := regexp.MustCompile(`(?m)^\| \[kv_cache\]\S+ \| [^|]+ \| [^|]+ \| 1 \| ([^|<]+)<br>([^|<]+) \|`).FindStringSubmatch(text)
	if row == nil {
		t.Fatalf("no row of kv_cache:\n%s", text)
	}
	page := must.Read(t, filepath.Join(dir, "docs", "porting", "FEATURE_kv_cache.md"))
	if want := " tok/s | " + row[1] + " tok/s | " + row[2] + " |"; !strings.Contains(page, want) {
		t.Errorf("no %q in\n%s", want, page)
	}
	region := strings.TrimSpace(regions[0])
	empty := "<!-- keep notes -->\n<!-- /keep -->"
	if !strings.Contains(text, empty) {
		t.Fatalf("no keep region in\n%s", text)
	}
	must.Write(t, results, strings.Replace(text, empty, region, 1))
	if status, out := mxflow("report", "plan.hcl", "--dir", "docs"); status != 0 {
		t.Fatalf("%d: %s", status, out)
	}
	if text = must.Read(t, results); !strings.Contains(text, region) {
		t.Errorf("the region did not stay:\n%s", text)
	}
	const criterion = `
    criterion "decode" { rule = "chat.tg.gain >= 0.05" }
`
	around := `knob "tile" {
  default = "auto"
  value "auto" {
    must_see { log = ["*auto*"] }
  }
  value "64x128" {
    must_see { log = ["*64x128*"] }
  }
}
phase "tiles" {
  feature "tile_auto" {
    set = { tile = "64x128" }` + criterion + `
  }
`
	whole := plan + around + strings.ReplaceAll(features[1], "…", criterion) + "}\n"
	if res := load.Bytes("reports.md", []byte(whole), steps.Registry(),
		load.Options{Inputs: []load.Given{}}); !res.OK() {
		t.Error(res.Diagnostics)
	}
}
