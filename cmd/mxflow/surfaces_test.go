package main

import (
	"encoding/json"
	"html"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// surfaces are all that mxflow prints of a record, by name.
func surfaces(t *testing.T, state, plan string) map[string]string {
	t.Helper()
	all := map[string]string{}
	read := func(name string, args ...string) {
		_, out, errs := mxflow(append(args, "--state", state, plan)...)
		if all[name] = out; out == "" {
			t.Errorf("mxflow %s prints nothing: %s", strings.Join(args, " "), errs)
		}
	}
	read("status", "status", "--all")
	read("show", "show", "latest")
	read("audit", "audit")
	for _, format := range []string{"md", "html", "github", "junit", "csv", "benchstat"} {
		read(format, "report", "--format", format)
	}
	for _, d := range recordedIn(t, state, plan).Decisions {
		if d.Kind == ledger.KindFeature {
			read("pr", "report", "--format", "pr")
		}
		if strings.Count(d.Node, ".") == 1 {
			read("explain "+d.Node, "explain", d.Node)
		}
	}
	dir := filepath.Join(t.TempDir(), "files")
	must.Do(t, exec.Command(scenario.Program, "report", "--dir", dir, "--state", state, plan).Run())
	must.Do(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			all["file "+strings.TrimPrefix(path, dir+"/")] = must.Read(t, path)
		}
		return err
	}))
	return all
}

// recordedValue is what status --json has of a number.
type recordedValue struct {
	Cell, Metric, Stat string
	New, Old           struct {
		Values        []float64
		Mean, Geomean *float64
		SD            float64
	}
	Change, Low, High *float64
	Unit, Better      string
	Absolute          bool
	Marked            bool
	Root              string
}

func (v recordedValue) mean(of string) *float64 {
	side := v.New
	if of == "old" {
		side = v.Old
	}
	if side.Geomean != nil {
		return side.Geomean
	}
	if len(side.Values) == 0 {
		return nil
	}
	return side.Mean
}

type recorded struct {
	Decisions []*ledger.Decision
	Stack     struct{ Features []struct{ Feature string } }
	Ends      struct {
		Pair *struct{ Deltas []recordedValue }
	} `json:"stack_against_baseline"`
	Results     []recordedGrid
	Comparisons []struct {
		Node   string
		Tables []recordedGrid
	}
	Ports []struct {
		Variant, Parent, Session string
		Values                   []recordedValue
	}
	Targets []struct {
		Name, Address                   string
		Value                           float64
		Mean, Geomean, Low, High, Ratio *float64
		RatioLow                        *float64 `json:"ratio_low"`
		RatioHigh                       *float64 `json:"ratio_high"`
	}
}

type recordedGrid struct {
	Columns []struct{ Path, Heading string }
	Rows    []struct {
		Name, Feature, Of, Status string
		Values                    []recordedValue
	}
}

func recordedIn(t *testing.T, state, plan string) (r recorded) {
	t.Helper()
	_, out, _ := mxflow("status", "--json", "--state", state, plan)
	must.Do(t, json.Unmarshal([]byte(out), &r))
	return r
}

// totalLine is a total in whatever surface: both ends, the change and its bound.
var totalLine = regexp.MustCompile(
	`([0-9][0-9.,]*) → ([0-9][0-9.,]*)( tok/s| ms| req/s)?, ([-+]?[0-9.,]+(?:×|%)(?: less time)?)` +
		`(?: (?:the|against the|than the) baseline)?(?: \((at (?:least|most)) ([-+]?[0-9.,]+(?:×|%)))?`)

// numeral is the number of a text: a change is relative, and that of a time that fell negative.
func numeral(t *testing.T, text string) float64 {
	t.Helper()
	plain := strings.TrimRight(strings.TrimSuffix(strings.ReplaceAll(text, ",", ""), " less time"), "%×")
	x, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		t.Fatalf("%q is no number", text)
	}
	switch {
	case strings.Contains(text, "×"):
		x--
	case strings.Contains(text, "%"):
		x /= 100
	}
	if strings.HasSuffix(text, " less time") {
		x = -x
	}
	return x
}

// digit is what the last digit of a printed number stands for.
func digit(text string) float64 {
	number := strings.TrimRight(strings.TrimSuffix(text, " less time"), "%×")
	_, decimals, _ := strings.Cut(number, ".")
	step := math.Pow10(-len(decimals))
	if strings.Contains(text, "%") {
		step /= 100
	}
	return step
}

// printedAs reports whether a printed number is a value, rounded by at most so many of its last digit.
func printedAs(t *testing.T, printed string, is, rounded float64) bool {
	return math.Abs(numeral(t, printed)-is) <= rounded*digit(printed)+1e-9*math.Abs(is)
}

// agree compares what the surfaces of an applied example print, by value, with what its record says,
// and runs what they tell people to run; applied is what its apply printed.
func agree(t *testing.T, state, plan, applied string) {
	t.Helper()
	all, record := surfaces(t, state, plan), recordedIn(t, state, plan)
	if _, end, ends := strings.Cut(applied, "\n\n"); ends { // behind the lines of its progress
		all["apply"] = end
	}
	totals := 0
	for name, text := range all {
		for _, m := range totalLine.FindAllStringSubmatch(html.UnescapeString(text), -1) {
			old, is := numeral(t, m[1]), numeral(t, m[2])
			if by := is/old - 1; math.Abs(by-numeral(t, m[4])) >
				0.51*(digit(m[4])+(1+by)*(digit(m[1])/old+digit(m[2])/is)) {
				t.Errorf("%s: %q does not add up: %.4g", name, m[0], by)
			}
			if record.Ends.Pair == nil {
				t.Errorf("%s: %q, but no session launched both", name, m[0])
				continue
			}
			totals++
			if !slices.ContainsFunc(record.Ends.Pair.Deltas, func(d recordedValue) bool {
				was, now := d.mean("old"), d.mean("new")
				bound := m[6] == "" || d.Low != nil && d.High != nil && slices.ContainsFunc([]float64{*d.Low, *d.High},
					func(x float64) bool {
						return printedAs(t, m[6], x, 1) || printedAs(t, m[6], -x, 1)
					})
				return was != nil && now != nil && d.Change != nil && printedAs(t, m[1], *was, 0.5) &&
					printedAs(t, m[2], *now, 0.5) && printedAs(t, m[4], *d.Change, 0.5) && bound
			}) {
				t.Errorf("%s: %q is not what the record has", name, m[0])
			}
		}
	}
	if len(record.Stack.Features) > 0 && record.Ends.Pair != nil && totals < 4 {
		t.Errorf("%d totals are printed", totals)
	}
	agreeNumbers(t, all, append(quantities(t, record), agreeData(t, all, record)...), must.Read(t, plan))
	agreeWords(t, all, record)
	commandsRun(t, all, plan)
}

// agreeWords: an accepted port is called so everywhere, and one that does not count is marked.
func agreeWords(t *testing.T, all map[string]string, record recorded) {
	for _, f := range record.Stack.Features {
		for surface, says := range map[string]string{
			"status": `(?m)^` + f.Feature + ` +accepted`, "show": `(?m)^` + f.Feature + ` +accepted`,
			"md": `(?m)^## ` + f.Feature + `: accepted`, "github": `(?m)^#### ` + f.Feature + `: accepted`,
			"explain feature." + f.Feature: `^` + f.Feature + ` is accepted`,
		} {
			if !regexp.MustCompile(says).MatchString(all[surface]) {
				t.Errorf("%s does not say that %s is accepted", surface, f.Feature)
			}
		}
	}
	for _, grid := range record.Results {
		for _, row := range grid.Rows {
			for _, v := range row.Values {
				if v.Marked && v.mean("new") != nil && !strings.Contains(all["md"], "❌") {
					t.Errorf("md does not mark that %s does not count", row.Name)
				}
			}
		}
	}
	for _, d := range record.Decisions {
		proved := slices.ContainsFunc(d.Levels, func(l ledger.Level) bool {
			return l.Name == "kernels" && l.Verdict == "pass" && len(l.Reasons) > 1
		})
		if d.Kind != ledger.KindFeature || !proved || len(d.Alternatives) > 0 {
			continue
		}
		for _, surface := range []string{"status", "md", "html", "github", "explain " + d.Node} {
			if !strings.Contains(all[surface], " of the log of launch ") &&
				!strings.Contains(all[surface], " in launch ") &&
				!strings.Contains(all[surface], " in the profile of launch ") {
				t.Errorf("%s does not show what proved %s", surface, d.Feature)
			}
		}
	}
}

// printedCommand is a command in a line of its own, in code, or behind two spaces.
var printedCommand = regexp.MustCompile("(?m)(?:^ {0,6}|`|<code>|: )((?:MXFLOW_[A-Z_]+=\\S+ )*mxflow " +
	"(?:apply|audit|explain|plan|report|show|status)\\b[^`<\\n]*?plan\\.hcl)")

// commandsRun runs every command that a surface prints where it was printed: as it is if it reads, and
// if it applies as the plan of what that would do.
func commandsRun(t *testing.T, all map[string]string, plan string) {
	programs := t.TempDir()
	must.Do(t, os.Symlink(scenario.Program, filepath.Join(programs, "mxflow")))
	path := programs + string(os.PathListSeparator) + os.Getenv("PATH")
	ran := map[string]bool{}
	for name, text := range all {
		for _, m := range printedCommand.FindAllStringSubmatch(text, -1) {
			line := html.UnescapeString(m[1])
			if ran[line] {
				continue
			}
			ran[line] = true
			c := exec.Command("sh", "-c", strings.Replace(line, "mxflow apply", "mxflow plan", 1))
			c.Dir, c.Env = filepath.Dir(plan), append(os.Environ(), "PATH="+path)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s prints %q: %v\n%s", name, line, err, out)
			}
		}
	}
	if len(ran) < 3 {
		t.Errorf("only %d commands are printed", len(ran))
	}
}
