package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// quantity is a quantity of the record: of which ports, rows or phases it is, by which metric or rule, what it
// came to on both sides, and how they differ. Others are numbers that belong to it without bounds.
type quantity struct {
	of, by            []string
	change, low, high *float64
	wanted            *float64
	means, others     []float64
}

// quantities are all quantities of a record.
func quantities(t *testing.T, r recorded) (all []quantity) {
	ofValue := func(v recordedValue, of, by []string) {
		address := v.Cell + "." + v.Metric
		by = append(by, r.headings(address)...)
		by = append(by, address, v.Cell+" "+v.Metric, report.MetricWord(v.Metric))
		f := quantity{of: of, by: by, change: v.Change, low: v.Low, high: v.High}
		for _, side := range []string{"old", "new"} {
			if mean := v.mean(side); mean != nil {
				f.means = append(f.means, *mean)
			}
		}
		f.others = slices.Concat(v.Old.Values, v.New.Values, []float64{v.Old.SD, v.New.SD})
		if v.Root != "" { // is a text there too
			f.others = append(f.others, numeral(t, anAmount.FindString(v.Root)))
		}
		all = append(all, f)
	}
	ofGrid := func(grids []recordedGrid, of ...string) {
		for _, g := range grids {
			for _, row := range g.Rows {
				for i, v := range row.Values {
					_, engine, _ := strings.Cut(row.Name, ".")
					names := []string{engine, strings.TrimSuffix(row.Name, " (reference)"), row.Feature, row.Of}
					ofValue(v, append(names, of...),
						[]string{g.Columns[i].Path, g.Columns[i].Heading})
				}
			}
		}
	}
	ofGrid(r.Results)
	for _, c := range r.Comparisons {
		ofGrid(c.Tables, c.Node[strings.LastIndexByte(c.Node, '.')+1:])
	}
	for _, p := range r.Ports {
		for _, v := range p.Values {
			feature, _, _ := strings.Cut(p.Variant, "[") // of an alternative
			ofValue(v, []string{p.Variant, feature, p.Session, p.Parent}, nil)
		}
	}
	if r.Ends.Pair != nil {
		for _, v := range r.Ends.Pair.Deltas {
			ofValue(v, []string{"stack", "baseline"}, nil)
		}
	}
	for _, target := range r.Targets {
		f := quantity{
			of: []string{target.Name, "stack", "baseline"}, by: []string{target.Address},
			means: []float64{target.Value},
		}
		for _, mean := range []*float64{target.Mean, target.Geomean} {
			if mean != nil {
				f.change, f.low, f.high = mean, target.Low, target.High
			}
		}
		all = append(all, f)
		if target.Ratio != nil {
			f.change, f.low, f.high = less1(target.Ratio), less1(target.RatioLow), less1(target.RatioHigh)
			all = append(all, f)
		}
	}
	for _, d := range r.Decisions {
		of := []string{d.Feature, d.Phase, d.Node[strings.LastIndexByte(d.Node, '.')+1:]}
		rules := slices.Clone(d.Rules)
		for _, a := range d.Alternatives {
			of, rules = append(of, a.Name), append(rules, a.Rules...)
		}
		if d.Hypothesis != nil && d.Hypothesis.Test != nil {
			rules = append(rules, *d.Hypothesis.Test)
		}
		for _, rule := range rules {
			for _, c := range rule.Comparisons {
				if t := c.Test; t != nil {
					all = append(all, ofTest(t, of, append(c.Reads, rule.Name, rule.Expr)...))
				}
			}
			for _, in := range rule.Inputs {
				f := quantity{of: of, by: []string{rule.Name, in.Path}, change: in.Value, low: in.Low, high: in.High}
				f.others = slices.Concat(in.PerLaunch, in.BasePerLaunch)
				all = append(all, f)
			}
		}
		for _, found := range d.Findings {
			if change, bounds := found.Values["change"], found.Values["bounds"]; change.Number != nil {
				all = append(all, quantity{
					of: of, by: []string{found.Subject}, change: change.Number, low: bounds.Number, high: bounds.To,
				})
			}
		}
		f := quantity{of: of}
		reasons := slices.Clone(d.Reasons)
		for _, l := range d.Levels {
			reasons = append(reasons, l.Reasons...)
		}
		for _, rule := range rules {
			reasons = append(reasons, rule.Reasons...)
		}
		for ; len(reasons) > 0; reasons = append(reasons[1:], reasons[0].Causes...) {
			for _, v := range reasons[0].Values {
				for _, x := range []*float64{v.Number, v.To} {
					if x != nil {
						f.others = append(f.others, *x)
					}
				}
			}
		}
		all = append(all, f)
		for _, row := range d.Rows {
			for _, c := range row.Cells {
				_, engine, _ := strings.Cut(row.Name, ".")
				f := quantity{
					of: append([]string{row.Name, engine}, of...), by: []string{c.Address}, others: c.Values,
					means: []float64{c.Mean},
				}
				f.change, f.low, f.high = less1(c.Speedup), less1(c.SpeedupLow), less1(c.SpeedupHigh)
				all = append(all, f)
			}
		}
		for _, e := range d.Effects {
			all = append(all, quantity{
				of: append([]string{e.Knob + "=" + e.Value}, of...), by: []string{e.Address},
				change: e.Change, low: e.Low, high: e.High,
			})
		}
	}
	return all
}

// headings are what plans call a metric.
func (r recorded) headings(address string) (names []string) {
	for _, g := range r.Results {
		for _, c := range g.Columns {
			if c.Heading != "" && strings.HasPrefix(c.Path, address) {
				names = append(names, c.Heading)
			}
		}
	}
	return names
}

// ofTest is what a rule tested: the estimate and the bounds of its decision, and the means of what it read.
func ofTest(t *verdict.Test, of []string, by ...string) quantity {
	_, metric := measure.SplitAddress(t.Metric)
	f := quantity{
		of: append([]string{t.Arm, t.Against}, of...), by: append(by, t.Metric, report.MetricWord(metric)),
		change: t.Estimate, low: t.Low, high: t.High,
		wanted: &t.Threshold, others: slices.Concat(t.Values, t.Base),
	}
	for _, l := range t.Looks {
		if l.Own != nil {
			f.others = append(f.others, *l.Own)
		}
	}
	for _, values := range [][]float64{t.Values, t.Base} {
		if n := t.N(); n > 0 && n <= len(values) {
			sum, logs := 0.0, 0.0
			for _, v := range values[:n] {
				sum, logs = sum+v, logs+math.Log(v)
			}
			f.means = append(f.means, sum/float64(n), math.Exp(logs/float64(n)))
			for _, by := range []float64{1 + t.Threshold, 1 - t.Threshold} { // what was needed, as a level
				f.others = append(f.others, by*sum/float64(n), by*math.Exp(logs/float64(n)))
			}
		}
	}
	return f
}

func less1(times *float64) *float64 {
	if times == nil {
		return nil
	}
	x := *times - 1
	return &x
}

// statement is a cell of a table or a line, and what names its subject: row and head, or the line itself, and
// the section that it is in.
type statement struct{ text, scope, section string }

var (
	unseen = regexp.MustCompile(`(?s)<(?:style|script|symbol|blockquote|code|text|h1)\b.*?` +
		`</(?:style|script|symbol|blockquote|code|text|h1)>|<!--.*?-->`)
	startOfRow  = regexp.MustCompile(`<tr\b[^>]*>`)
	startOfCell = regexp.MustCompile(`<t[hd]\b[^>]*>`)
	heading     = regexp.MustCompile(`<h[2-4]\b[^>]*>`)
	endOfLine   = regexp.MustCompile(`</(tr|li|p|div|dl|figure|figcaption|h[2-4]|summary|text|title|thead|tbody|ol|ul)>`)
	tag         = regexp.MustCompile(`<[^>]*>`)
	codeSpan    = regexp.MustCompile("`[^`\n]*`")
	// predicted is what launches would have had to show, which nobody measured.
	predicted = regexp.MustCompile(`would have had to reach [^ ]+`)
	columns   = regexp.MustCompile(` {2,}`)
)

// statements are what a surface says, whatever its form: HTML, Markdown, or the tables of a terminal.
func statements(surface, text string) (all []statement) {
	if strings.Contains(text, "<!doctype html>") {
		text = unseen.ReplaceAllString(strings.ReplaceAll(text, "\n", " "), " ")
		text = heading.ReplaceAllString(startOfRow.ReplaceAllString(text, "\n| "), "\n## ")
		text = startOfCell.ReplaceAllStringFunc(text, func(cell string) string { return " | " })
		text = tag.ReplaceAllString(endOfLine.ReplaceAllString(text, "\n"), " ")
		text = strings.ReplaceAll(html.UnescapeString(text), "|  | ", "| ")
	}
	var head []string
	titles := append([]string{surface}, make([]string, 6)...) // of the section that a line is in, by level
	row, previous := "", ""
	for line := range strings.Lines(codeSpan.ReplaceAllString(html.UnescapeString(text), "``")) {
		line = strings.TrimRight(line, " \n")
		var cells []string
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "#"):
			level := min(6, len(trimmed)-len(strings.TrimLeft(trimmed, "#")))
			titles, head = append(titles[:level:level], trimmed, "", "", "", "", ""), nil
			continue
		case strings.HasPrefix(trimmed, "|"):
			cells = strings.Split(strings.Trim(trimmed, "| "), " | ")
		case trimmed != "" && strings.Trim(trimmed, "─ ") == "":
			head = columns.Split(strings.TrimSpace(previous), -1)
			continue
		case trimmed == "":
			head, row = nil, ""
		case head != nil:
			cells = columns.Split(line, -1)
		}
		section := strings.Join(titles, " ")
		switch previous = line; {
		case cells == nil:
			all = append(all, statement{line, line, section})
		case head == nil && strings.HasPrefix(strings.TrimSpace(line), "|"):
			head = cells
		default:
			if first := strings.TrimSpace(cells[0]); first != "" {
				row = first
				if len(cells) > 2 { // "accepted  kv_cache  decode +277%"
					row += " " + cells[1]
				}
			}
			for i, cell := range cells {
				of := strings.Join(head, " ")
				if len(cells) == len(head) {
					of = head[i]
				}
				all = append(all, statement{cell, row + " " + of + " " + cell, section})
			}
		}
	}
	return all
}

const (
	number = `[-+]?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?`
	amount = number + `(?:%|×| (?:tok/s|ms|GB|MB|s|W|J)\b)?`
	spread = ` ± ` + number + `%?(?: (?:tok/s|ms|GB|MB|s|W|J)\b)?`
)

// claims are the forms in which a number stands with its bounds: a mean with its spread, both ends, a change or
// a level with bounds, and a rule by its estimate, what it wanted and how far it would have passed.
var claims = []*regexp.Regexp{
	regexp.MustCompile(`(?P<is>` + amount + `)(?: less time| slower| faster)? ` +
		`\((?:≥|≤|>|<|needs|required|at most|at least)[^(;,]*?(?P<wanted>` + amount +
		`)[^(;,]*[,;] (?:at least|at most|between) (?P<edge>` + amount + `)(?: and (?P<edge2>` + amount + `))?`),
	regexp.MustCompile(`(?P<is>` + amount + `)(?: less time| better| worse)?` +
		`(?: (?:than |against )?the baseline| [\w.]+)? ?[\[(](?:95% CI )?` +
		`(?P<low>` + amount + `)(?: to |, )(?P<high>` + amount + `)[\])]`),
	regexp.MustCompile(`(?P<is>` + amount + `)(?: less time)?(?: (?:than |against )?the baseline| with [\w\[\]]+)? ` +
		`\((?:at least|at most) (?P<edge>` + amount + `)`),
	regexp.MustCompile(`(?P<mean>` + number + `%?)` + spread),
	regexp.MustCompile(`(?P<old>` + amount + `)\s+→\s+(?P<new>` + amount + `)`),
	regexp.MustCompile(`(?P<any>[-+]` + number + `(?:%|×)|` + number + `×|` + number + `% less time|` + number + ` (?:tok/s|ms)\b)`),
}

// holds reports whether the numbers of a claim are all those of one quantity.
func (f quantity) holds(t *testing.T, claim map[string]string) bool {
	if text := claim["any"]; text != "" {
		numbers := slices.Concat(f.means, f.others)
		for _, x := range []*float64{f.change, f.low, f.high, f.wanted} {
			if x != nil {
				numbers = append(numbers, *x, 1/(1+*x)-1)
			}
		}
		return slices.ContainsFunc(numbers, func(x float64) bool { return reads(t, text, x, 1) })
	}
	among := func(text string, of []float64) bool {
		return text == "" || slices.ContainsFunc(of, func(x float64) bool { return reads(t, text, x, 0.51) })
	}
	if !among(claim["mean"], f.means) || !among(claim["old"], f.means) || !among(claim["new"], f.means) {
		return false
	}
	if claim["is"] == "" {
		return true
	}
	if f.change == nil {
		return false
	}
	same := func(x float64) float64 { return x }
	inverse := func(x float64) float64 { return 1/(1+x) - 1 } // how many times better, of what is better lower
	return slices.ContainsFunc([]func(float64) float64{same, inverse}, func(as func(float64) float64) bool {
		bound := func(texts ...string) bool {
			var ends []float64
			for _, x := range []*float64{f.low, f.high} {
				if x != nil {
					ends = append(ends, as(*x))
				}
			}
			return !slices.ContainsFunc(texts, func(text string) bool {
				return text != "" && !slices.ContainsFunc(ends, func(x float64) bool { return reads(t, text, x, 1) })
			})
		}
		return reads(t, claim["is"], as(*f.change), 0.51) &&
			bound(claim["low"], claim["high"], claim["edge"], claim["edge2"]) &&
			(claim["wanted"] == "" || f.wanted != nil && reads(t, claim["wanted"], *f.wanted, 0.51))
	})
}

// reads reports whether a text is a number, rounded by so much of its last digit: without its sign where the
// text has none, as of "39% slower".
func reads(t *testing.T, text string, x, rounded float64) bool {
	plain, unit, _ := strings.Cut(strings.TrimSuffix(text, " less time"), " ")
	if unit == "MB" {
		x *= 1000
	}
	if strings.HasPrefix(plain, "+") || strings.HasPrefix(plain, "-") {
		return printedAs(t, plain, x, rounded)
	}
	return printedAs(t, plain, math.Abs(x), rounded) || strings.HasSuffix(plain, "×") && printedAs(t, plain, x, rounded)
}

// agreeNumbers compares each number that surfaces print, with its bounds, with the record by what it is said of:
// a number of a plan's own text is the plan's. A number that differs in a digit must not be found.
func agreeNumbers(t *testing.T, all map[string]string, known []quantity, plan string) {
	t.Helper()
	ports, with := map[string]bool{}, map[string]map[string]bool{} // by name, and the names beside it
	for _, q := range known {
		for _, name := range q.of {
			ports[name] = true
		}
		for _, name := range q.by {
			if with[name] == nil {
				with[name] = map[string]bool{}
			}
			for _, other := range q.by {
				with[name][other] = true
			}
		}
	}
	delete(ports, "")
	delete(with, "")
	cache := map[string][]quantity{}
	about := func(s statement) []quantity { // what a statement may be of
		key := s.section + "\n" + s.scope
		if of, is := cache[key]; is {
			return of
		}
		by, of, own, rest := map[string]bool{}, map[string]bool{}, false, s.scope
		for name := range with {
			if word(s.scope, name) {
				maps.Copy(by, with[name])                     // a rule stands for what it reads
				rest = strings.ReplaceAll(rest, name, "rule") // "faster than the stack" is one
			}
		}
		for name := range ports {
			if word(rest, name) {
				of[name], own = true, own || name != ledger.Baseline && name != "accepted"
			}
		}
		for name := range ports {
			of[name] = of[name] || !own && word(s.section, name) // which has a baseline, and may be accepted
		}
		maps.DeleteFunc(of, func(_ string, in bool) bool { return !in })
		fits := func(names map[string]bool, own []string) bool {
			return len(names) == 0 || len(own) == 0 || slices.ContainsFunc(own, func(n string) bool { return names[n] })
		}
		var out []quantity
		for _, f := range known {
			if fits(of, f.of) && fits(by, f.by) {
				out = append(out, f)
			}
		}
		cache[key] = out
		return out
	}
	found := func(s statement, claim map[string]string) bool {
		if claim["old"] != "" && strings.Contains(s.text, report.NotTogether) { // of two sessions
			mean := func(text string) bool {
				return slices.ContainsFunc(about(s), func(f quantity) bool {
					return f.holds(t, map[string]string{"mean": text})
				})
			}
			return mean(claim["old"]) && mean(claim["new"])
		}
		return slices.ContainsFunc(about(s), func(f quantity) bool { return f.holds(t, claim) })
	}
	for surface, text := range all {
		compared, altered, missed := 0, 0, 0
		for _, s := range statements(surface, text) {
			rest := predicted.ReplaceAllString(s.text, " ")
			for _, form := range claims {
				rest = form.ReplaceAllStringFunc(rest, func(match string) string {
					claim := map[string]string{}
					for i, value := range form.FindStringSubmatch(match) {
						claim[form.SubexpNames()[i]] = value
					}
					delete(claim, "")
					unit := anUnit.FindString(cmp.Or(claim["is"], claim["new"]))
					for part, text := range claim {
						if part == "mean" && (strings.HasSuffix(match, "%") || strings.Contains(s.scope, "(%)")) {
							claim[part] = strings.TrimSuffix(text, "%") + "%"
						} else if text != "" && part != "is" && !strings.ContainsAny(text, "%×") &&
							anUnit.FindString(text) == "" {
							claim[part] = text + unit
						}
					}
					if claim["any"] != "" &&
						strings.Contains(plan, strings.TrimLeft(strings.Fields(claim["any"])[0], "+-")) {
						return " "
					}
					of := s
					if s.scope == s.text { // of a line what precedes the end of the claim
						of.scope = s.text[:strings.Index(s.text, match)+len(match)]
					}
					if compared++; !found(of, claim) {
						t.Errorf("%s: %q is not on record (in %q)", surface, match, s.scope)
					}
					for _, part := range []string{"is", "mean", "new"} {
						if claim[part] == "" {
							continue
						}
						claim[part] = firstDigit.ReplaceAllStringFunc(claim[part], func(d string) string {
							return string('1' + (d[0]-'0')%9)
						})
						if altered++; found(of, claim) {
							missed++
						}
						break
					}
					return " "
				})
			}
		}
		if altered > 9 && missed*5 > altered {
			t.Errorf("%s: of %d numbers %d would be found with another digit too", surface, altered, missed)
		}
		t.Logf("%s: %d numbers compared, %d of %d altered ones not noticed", surface, compared, missed, altered)
	}
}

var (
	firstDigit = regexp.MustCompile(`[1-9]`)
	anAmount   = regexp.MustCompile(amount)
	anUnit     = regexp.MustCompile(` [A-Za-z/]+$`)
)

// word reports whether a name is in a text, not as part of another.
func word(text, name string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		part := func(c byte) bool {
			return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		}
		if end := at + len(name); (at == 0 || !part(text[at-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		from = at + 1
	}
}

// agreeData compares the numbers of launches, which surfaces give to programs, to the last digit.
func agreeData(t *testing.T, all map[string]string, record recorded) (launched []quantity) {
	t.Helper()
	var page struct {
		Columns []string
		Rows    [][]any
	}
	text := regexp.MustCompile(`(?s)<script type="application/json" id="data"[^>]*>(.*?)</script>`).
		FindStringSubmatch(all["html"])
	if text == nil || json.Unmarshal([]byte(text[1]), &page) != nil {
		t.Fatal("the page has no data")
	}
	launches, values := map[string]map[string]string{}, map[float64]bool{}
	for _, row := range page.Rows {
		of := map[string]string{}
		for i, x := range row {
			if n, is := x.(float64); is {
				values[n] = true
				of[page.Columns[i]] = fmt.Sprint(n)
			}
		}
		launches[row[slices.Index(page.Columns, "launch")].(string)] = of
	}
	arms := map[[2]string][][]any{} // by session and variant
	for _, row := range page.Rows {
		if row[slices.Index(page.Columns, "does not count")] == "" {
			at := [2]string{
				row[slices.Index(page.Columns, "session")].(string),
				row[slices.Index(page.Columns, "variant")].(string),
			}
			arms[at] = append(arms[at], row)
		}
	}
	for i, column := range page.Columns[6:] { // metrics
		logs := func(at [2]string) (mean, logs float64) {
			n := 0.0
			for _, row := range arms[at] {
				if x, has := row[6+i].(float64); has {
					n, mean, logs = n+1, mean+x, logs+math.Log(x)
				}
			}
			return mean / n, logs / n
		}
		for at := range arms {
			mean, own := logs(at)
			q := quantity{
				of:    []string{at[1], at[0]},
				by:    append(record.headings(column), column, strings.ReplaceAll(column, ".", " ")),
				means: []float64{mean, math.Exp(own)},
			}
			for _, p := range record.Ports {
				if p.Session == at[0] && p.Variant == at[1] && p.Parent != "" {
					_, base := logs([2]string{p.Session, p.Parent})
					q.of, q.others = append(q.of, p.Parent), []float64{math.Exp(own-base) - 1}
				}
			}
			launched = append(launched, q)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(all["csv"])).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("csv: %v", err)
	}
	for _, row := range rows[1:] {
		of := launches[row[slices.Index(rows[0], "launch")]]
		for i, column := range rows[0] {
			if is := of[column]; is != "" && row[i] != "" && numeral(t, row[i]) != numeral(t, is) {
				t.Errorf("csv: %s of %s is %s, on the page %s", column, row, row[i], is)
			}
		}
	}
	for _, m := range regexp.MustCompile(`\t([0-9.e+-]+) `).FindAllStringSubmatch(all["benchstat"], -1) {
		if !values[numeral(t, m[1])] {
			t.Errorf("benchstat: %s is no launch's", m[1])
		}
	}
	for name, text := range all {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		var log struct {
			Arms []struct {
				Launches []string
				Results  map[string]struct {
					Stat      string
					PerLaunch []float64 `yaml:"per_launch"`
				}
			}
		}
		must.Do(t, yaml.Unmarshal([]byte(text), &log))
		for _, arm := range log.Arms {
			for name, of := range arm.Results {
				if of.Stat != "median" && of.Stat != "mean" {
					name += "." + of.Stat
				}
				for i, x := range of.PerLaunch {
					is := launches[arm.Launches[i]][name]
					if is != "" && math.Abs(numeral(t, is)-x) > 1e-5*math.Abs(x) {
						t.Errorf("TEST_LOGS: %s of %s is %v, on the page %s", name, arm.Launches[i], x, is)
					}
				}
			}
		}
	}
	for _, p := range record.Ports {
		for _, v := range p.Values {
			column := v.Cell + "." + v.Metric
			if v.Stat != "median" && v.Stat != "mean" {
				column += "." + v.Stat
			}
			for _, x := range slices.Concat(v.New.Values, v.Old.Values) {
				if !values[x] && slices.Contains(page.Columns, column) {
					t.Errorf("%s %s: %v is no launch's", p.Variant, column, x)
				}
			}
		}
	}
	return launched
}
