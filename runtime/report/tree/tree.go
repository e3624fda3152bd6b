// Package tree turns the contents of a state directory, and the notes in its plan, into
// the files that a team keeps beside its code: results, a page per port, what is left to
// do, and logs of runs. It decides nothing; its numbers are those of runtime/report.
package tree

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// results is the file that links to all others.
const results = "BENCHMARK_RESULTS.md"

// Files are all files of the tree. changed are the files in which two commits of a repository differ,
// by name; none if it is no longer there.
func Files(s *report.Summary, changed func(repo, was, is string) []string) ([]File, error) {
	p := s.Plan
	t := &writer{
		Writer: &report.Writer{Summary: s, Links: within}, changed: changed, arms: s.Launched(),
		names: map[string]string{}, states: map[string]state{}, qualified: map[string][]*ledger.Launch{},
		profiles: map[string]string{},
	}
	profiled := map[string]*ledger.Launch{} // the newest of each variant
	for _, l := range s.Store.Launches(store.LaunchFilter{Purpose: ledger.ForQualification}) {
		t.qualified[l.Node] = append(t.qualified[l.Node], l)
		if l.Left["profile/analysis.json"] != "" {
			profiled[l.Variant] = l
		}
	}
	taken := map[string]string{}
	for _, f := range p.Features() {
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
	for _, variant := range slices.Sorted(maps.Keys(profiled)) {
		if path := t.profile(variant, profiled[variant]); path != "" {
			t.profiles[variant] = path
		}
	}
	file := func(path string, write func()) {
		t.Writer = &report.Writer{Summary: s, Links: within}
		if write(); t.Len() > 0 {
			t.files = append(t.files, File{Path: path, Text: strings.TrimRight(t.String(), "\n") + "\n"})
		}
	}
	file(results, t.results)
	for _, f := range p.Features() {
		file(t.names[f.Name], func() { t.port(f) })
	}
	file("FEATURE_MATRIX.md", t.matrix)
	file("UPSTREAM_TODOS.md", t.todos)
	t.logs()
	return t.files, t.err
}

type writer struct {
	*report.Writer // of the file in hand

	changed func(repo, was, is string) []string
	arms    []*report.Arm
	// names are the files of ports, by feature.
	names  map[string]string
	states map[string]state
	// qualified are the launches that qualified a variant, by node, profiles the files about
	// where their time went, by variant.
	qualified map[string][]*ledger.Launch
	profiles  map[string]string

	files []File
	err   error
}

var odd = regexp.MustCompile(`[^A-Za-z0-9._-]`)

func (t *writer) table(head []string, rows [][]string) { t.Table(report.Table{Head: head, Rows: rows}) }

// within are links within the tree.
var within = regexp.MustCompile(
	`^(?:\[[^\]()<>|]*\]\((?:\.\./)?(?:porting/|TEST_LOGS/|perf_artifacts/)?[A-Za-z0-9._#-]+\) ?)+$`)

// keep writes a region for people's own text.
func (t *writer) keep(name string) { t.Line("<!-- keep %s -->\n<!-- /keep -->\n", name) }

// state is the state of a feature.
type state struct {
	decided *ledger.Decided
	// word is short: "pass", "TODO", "blocked by …"; output describes its answers:
	// coherent, garbage or crashed.
	word, output string
}

// stand determines the state of every feature of the plan.
func (t *writer) stand() {
	for _, r := range t.Features() {
		s := state{decided: r.Decided, word: r.Status(), output: "–"}
		if s.decided != nil {
			s.output = t.outputs(s.decided.Decision)
		}
		t.states[r.Feature] = s
	}
}

// outputs are the results of a feature's launches: of the value that it chose, or else of all that it tried.
func (t *writer) outputs(d *ledger.Decision) string {
	var words []string
	for _, a := range d.Alternatives {
		word := t.output(d, a.Name)
		if a.Chosen {
			return word
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return t.output(d, d.Feature)
	}
	return strings.Join(words, ", ")
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
		if l, ok := t.Store.LaunchByID(id); ok && l.Variant == variant {
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
		case l.OK && word != "garbage" && (l.AnswersUnchecked() || l.Engine["kind"] == plans.CommandKind):
			word = "not checked" // nobody read what a program answered
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
func (t *writer) link(feature, from string) report.Raw {
	to := t.names[feature]
	if to == "" {
		return report.Raw(report.Inert(feature))
	}
	if strings.HasPrefix(from, "porting/") {
		to = strings.TrimPrefix(to, "porting/")
	}
	return report.Raw(fmt.Sprintf("[%s](%s)", feature, to))
}

func date(at time.Time) string { return at.UTC().Format("2006-01-02") }

func logOf(session string) string {
	return "TEST_LOGS/" + odd.ReplaceAllString(cmp.Or(session, "unknown"), "_") + ".yaml"
}
