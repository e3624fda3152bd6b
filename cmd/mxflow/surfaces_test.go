package main

import (
	"encoding/json"
	"fmt"
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
	for _, format := range []string{"md", "html", "github", "junit"} {
		read(format, "report", "--format", format)
	}
	for _, d := range recordedIn(t, state, plan).Decisions {
		if strings.Count(d.Node, ".") == 1 {
			read("explain "+d.Node, "explain", d.Node)
		}
	}
	dir := filepath.Join(t.TempDir(), "files")
	must.Do(t, exec.Command(scenario.Program, "report", "--dir", dir, "--state", state, plan).Run())
	must.Do(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			all["file "+strings.TrimPrefix(path, dir+"/")] = must.Read(t, path)
		}
		return err
	}))
	return all
}

// recordedValue is what status --json has of a number.
type recordedValue struct {
	New, Old struct {
		Values        []float64
		Mean, Geomean *float64
	}
	Change, Low, High *float64
	Unit, Better      string
	Absolute          bool
	Marked            bool
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
	Results []struct {
		Columns []struct{ Path, Heading string }
		Rows    []struct {
			Name   string
			Values []recordedValue
		}
	}
}

func recordedIn(t *testing.T, state, plan string) (r recorded) {
	t.Helper()
	_, out, _ := mxflow("status", "--json", "--state", state, plan)
	must.Do(t, json.Unmarshal([]byte(out), &r))
	return r
}

var (
	// totalLine is a total in whatever surface: both ends, the change and its bound.
	totalLine = regexp.MustCompile(
		`([0-9][0-9.,]*) → ([0-9][0-9.,]*)( tok/s| ms)?, ([-+]?[0-9.,]+(?:×|%)(?: less time)?)` +
			`(?: (?:the|against the|than the) baseline)?(?: \((at (?:least|most)) ([-+]?[0-9.,]+(?:×|%)))?`)
	// cellText is a mean with its spread and its change in a table.
	cellText = regexp.MustCompile(`^(?:❌ )?([0-9][0-9.,]*)(?: ± [0-9.,]+)?` +
		`(?:(?:<br>| |\n)(~ )?([-+]?[0-9.,]+(?:×|%)(?: less time)?)(?: [[(]([-+]?[0-9.,]+[×%]) to ([-+]?[0-9.,]+[×%])[])])?)?`)
)

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
// and runs what they tell people to run.
func agree(t *testing.T, state, plan string) {
	t.Helper()
	all, record := surfaces(t, state, plan), recordedIn(t, state, plan)
	totals, cells := 0, 0
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
		if name == "md" || name == "file BENCHMARK_RESULTS.md" {
			cells += agreeCells(t, name, text, record)
		}
	}
	if len(record.Stack.Features) > 0 && record.Ends.Pair != nil && totals < 4 {
		t.Errorf("%d totals are printed", totals)
	}
	if len(record.Results) > 0 && cells == 0 {
		t.Error("no number of the results is printed")
	}
	agreeWords(t, all, record)
	commandsRun(t, all, plan)
}

// agreeCells compares the tables of results with the record's. A row may stand in several: in one of
// them its numbers are those of the record.
func agreeCells(t *testing.T, name, text string, record recorded) (compared int) {
	for _, grid := range record.Results {
		for _, row := range grid.Rows {
			lines := regexp.MustCompile(`(?m)^\| (?:\[)?`+regexp.QuoteMeta(row.Name)+
				`(?:\]\([^)]*\))? \| (?:[^|]* \| ){0,2}(?:[0-9]+|–) \| (.*) \|$`).FindAllStringSubmatch(text, -1)
			var wrong []string
			for _, line := range lines {
				n, differ := agreeRow(t, line[1], row.Values)
				compared += n
				if wrong = differ; len(differ) == 0 {
					break
				}
			}
			if len(wrong) > 0 {
				t.Errorf("%s: %s: %s", name, row.Name, strings.Join(wrong, "; "))
			}
		}
	}
	return compared
}

// agreeRow compares the cells of a row with the record's values, and returns how many it compared and
// what differs.
func agreeRow(t *testing.T, line string, values []recordedValue) (compared int, differ []string) {
	for i, printed := range strings.Split(line, " | ") {
		m := cellText.FindStringSubmatch(printed)
		if i >= len(values) || m == nil {
			continue
		}
		v := values[i]
		mean := v.mean("new")
		if mean == nil || v.Unit == "share" {
			continue
		}
		if compared++; !printedAs(t, m[1], *mean, 0.5) {
			differ = append(differ, fmt.Sprintf("%q is %v on record", m[1], *mean))
		}
		if m[3] == "" || v.Change == nil || v.Absolute {
			continue
		}
		if !printedAs(t, m[3], *v.Change, 0.5) {
			differ = append(differ, fmt.Sprintf("a change by %q is %v on record", m[3], *v.Change))
		}
		if m[4] == "" || v.Low == nil {
			continue
		}
		low, high, least, most := m[4], m[5], *v.Low, *v.High
		if strings.HasSuffix(m[3], " less time") {
			least, most = -*v.High, -*v.Low
		}
		if numeral(t, low) > least+1e-9 || numeral(t, high) < most-1e-9 || !printedAs(t, low, least, 1) ||
			!printedAs(t, high, most, 1) {
			differ = append(differ,
				fmt.Sprintf("bounds of %q and %q are %v and %v on record", low, high, *v.Low, *v.High))
		}
	}
	return compared, differ
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
