// Package tree turns the contents of a state directory, and the notes in its plan, into
// the files that a team keeps beside its code: results, a page per port, what is left to
// do, and logs of runs. It decides nothing; its numbers are those of runtime/report.
package tree

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// results is the file that links to all others.
const results = "BENCHMARK_RESULTS.md"

// Files are all files of the tree.
func Files(p *plans.Plan, st *store.Store, moved report.Moved) ([]File, error) {
	if len(st.Runs()) == 0 {
		return nil, fmt.Errorf("nothing was applied here, so there is nothing to report")
	}
	t := &writer{plan: p, st: st, moved: moved, newest: map[string]*report.Arm{}, names: map[string]string{}, states: map[string]state{}, qualified: map[string][]*ledger.Launch{}}
	t.gather()
	t.file(results, t.results)
	for _, f := range p.Features() {
		t.file(t.names[f.Name], func() { t.port(f) })
	}
	t.file("FEATURE_MATRIX.md", t.matrix)
	t.todos()
	t.analyses()
	t.logs()
	return t.files, t.err
}

type writer struct {
	plan  *plans.Plan
	st    *store.Store
	moved report.Moved

	// arms are all that sessions measured, and own those on the baseline's engine: a rival
	// measured beside it is not a configuration of it.
	arms, own []*report.Arm
	// newest is the newest arm of a variant, and metrics those that people decide by.
	newest  map[string]*report.Arm
	metrics []report.Column
	// tests are those of rules that may have decided how arms differ.
	tests report.Tests
	// names are the files of ports, by feature.
	names  map[string]string
	states map[string]state
	// qualified are the launches that qualified a variant, by node.
	qualified map[string][]*ledger.Launch
	claims    []report.Claim

	files []File
	b     strings.Builder
	err   error
}

func (t *writer) gather() {
	t.arms, t.claims, t.tests = report.Arms(t.st), report.Claims(t.st), report.TestsOf(t.st)
	for _, a := range t.arms {
		if t.plan.Baseline == nil || a.Block == t.plan.Baseline.Engine {
			t.own, t.newest[a.Variant] = append(t.own, a), a
		}
	}
	t.metrics = report.Headlines(t.own)
	for _, l := range t.st.Launches(store.LaunchFilter{Purpose: ledger.ForQualification}) {
		t.qualified[l.Node] = append(t.qualified[l.Node], l)
	}
	taken := map[string]string{}
	for _, f := range t.plan.Features() {
		name := odd.ReplaceAllString(f.Name, "_")
		// Names that differ only in characters that file names cannot have, or in case,
		// which some file systems ignore, get a distinguishing suffix.
		if other, clash := taken[strings.ToLower(name)]; clash && other != f.Name || name != f.Name {
			sum := sha256.Sum256([]byte(f.Name))
			name += "-" + hex.EncodeToString(sum[:3])
		}
		taken[strings.ToLower(name)] = f.Name
		t.names[f.Name] = "porting/FEATURE_" + name + ".md"
	}
	t.stand()
}

var odd = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// file adds a file with what a function writes.
func (t *writer) file(path string, write func()) {
	t.b.Reset()
	write()
	t.files = append(t.files, File{Path: path, Text: strings.TrimRight(t.b.String(), "\n") + "\n"})
}

// line writes a line of Markdown; foreign texts are made inert.
func (t *writer) line(format string, args ...any) {
	for i, arg := range args {
		if text, is := arg.(string); is {
			args[i] = report.Inert(text)
		}
	}
	fmt.Fprintf(&t.b, format+"\n", args...)
}

func (t *writer) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	text := report.Table{Head: head, Rows: rows}.Markdown()
	for _, row := range rows {
		for _, cell := range row {
			// Tables show no foreign links; a whole cell that links within the tree is
			// mxflow's own.
			if within.MatchString(cell) {
				text = strings.ReplaceAll(text, "| "+report.Inert(cell)+" |", "| "+cell+" |")
			}
		}
	}
	t.b.WriteString(text)
}

var within = regexp.MustCompile(`^\[[^\]()<>|]*\]\((?:\.\./)?(?:porting/|analysis/|TEST_LOGS/)?[A-Za-z0-9._#-]+\)$`)

// raw is text that is already Markdown.
type raw string

func (t *writer) parts(parts ...report.Part) {
	if err := report.Sections(&t.b, t.st, t.moved, parts...); err != nil && t.err == nil {
		t.err = err
	}
}

// settings are a block of YAML, sorted.
func (t *writer) settings(values map[string]string) {
	text, err := yaml.Marshal(values)
	if err != nil && t.err == nil {
		t.err = err
	}
	t.b.WriteString("```yaml\n" + strings.ReplaceAll(string(text), "```", "'''"))
	t.b.WriteString("```\n\n")
}

// keep writes a region for people's own text.
func (t *writer) keep(name string) { t.line("<!-- keep %s -->\n<!-- /keep -->\n", name) }

// state is the state of a feature.
type state struct {
	decided *store.Decided
	// word is short: "pass", "TODO", "blocked by …"; output describes its answers:
	// coherent, garbage or crashed.
	word, output string
}

// stand determines the state of every feature of the plan.
func (t *writer) stand() {
	locked := map[string]verdict.Reason{}
	decided := map[string]*store.Decided{}
	for _, r := range report.Rows(t.st) {
		if r.Gone {
			continue
		}
		decided[r.Node] = r.Decided
		if !r.Locked.IsZero() {
			locked[r.Node] = r.Locked
		}
	}
	now := time.Now()
	for _, f := range t.plan.Features() {
		node := "feature." + f.Name
		s := state{decided: decided[node], output: "–"}
		switch {
		case s.decided != nil:
			s.word = report.OverruledOf(s.decided.Decision, t.st.Waiver(node), now).Word()
			if s.decided.Accepted {
				s.word += ", accepted"
			}
			s.output = t.output(s.decided.Decision, f.Name)
		case len(f.BlockedBy) > 0:
			s.word = "blocked by " + strings.Join(f.BlockedBy, "; ")
		case !locked[node].IsZero():
			s.word = "PENDING: " + locked[node].String()
		default:
			s.word = "TODO"
		}
		if f.SupersededBy != "" {
			s.word += "; superseded by " + f.SupersededBy
		}
		t.states[f.Name] = s
	}
}

// output is the result of a variant's own launches, qualification included: one that
// crashed, or wrote garbage, counts however many did not.
func (t *writer) output(d *ledger.Decision, variant string) string {
	node := d.Node
	if d.Feature != "" {
		node = "feature." + variant + ".qualify"
	}
	launches := t.qualified[node]
	for _, id := range d.Launches {
		if l, ok := t.st.LaunchByID(id); ok && l.Variant == variant {
			launches = append(launches, l)
		}
	}
	word := "–"
	for _, l := range launches {
		switch {
		case l.Crashed():
			return "crashed"
		case len(l.Garbage()) > 0:
			word = "garbage"
		case l.OK && word != "garbage" && l.Unread():
			word = "not checked"
		case l.OK && word == "–":
			word = "coherent"
		}
	}
	for _, level := range d.Levels {
		if level.Name == "smoke" && level.Verdict != verdict.Pass && (word == "coherent" || word == "not checked") {
			word = "garbage"
		}
	}
	return word
}

// link leads from the results to the page of a feature, or from one page to another.
func (t *writer) link(feature, from string) raw {
	to := t.names[feature]
	if to == "" {
		return raw(report.Inert(feature))
	}
	if strings.HasPrefix(from, "porting/") {
		to = strings.TrimPrefix(to, "porting/")
	}
	return raw(fmt.Sprintf("[%s](%s)", feature, to))
}

func date(at time.Time) string { return at.UTC().Format("2006-01-02") }

func logOf(session string) string {
	return "TEST_LOGS/" + odd.ReplaceAllString(cmp.Or(session, "unknown"), "_") + ".yaml"
}
