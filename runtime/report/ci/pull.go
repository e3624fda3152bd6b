package ci

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// PullRequest writes what the contribution rules of vLLM and of llama.cpp require for a
// claim about performance: for a feature, or with an empty name each, the cell, harness and command, hardware,
// commits, the numbers of both sides, and what was checked of its answers. What is not on
// record is reported as missing.
func PullRequest(w io.Writer, s *report.Summary, feature string) error {
	p, features := &report.Writer{Summary: s}, 0
	for _, d := range s.InForce() {
		if d.Kind != ledger.KindFeature || feature != "" && d.Feature != feature {
			continue
		}
		features++
		claim(p, d.Decision)
	}
	if features == 0 {
		return fmt.Errorf("no feature was decided here, so there is nothing to claim: %w", store.ErrApplyFirst)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

const missing = "**missing**"

// claim is what is claimed of a feature.
func claim(p *report.Writer, d *ledger.Decision) {
	p.Line("## %s: %s\n", d.Feature, report.Word(d, false))
	for _, mark := range d.Marks() {
		p.Line("%s\n", verdict.Sentence(mark))
	}
	pair := p.PortOf(d).Pair()
	if pair == nil {
		what := "No launches of both sides are recorded"
		if port := p.Port(d.Feature); port != nil && port.Uncounted != "" {
			what = "Its launches do not count"
		}
		p.Line("%s, so there is nothing to claim (%s).\n", what, verdict.Semicolons(d.Why()))
		return
	}
	old, new := pair.Old.Launches, pair.New.Launches
	var cells []string
	l := new[0]
	for _, c := range l.Cells {
		if text := c.Of() + ": " + report.Sent(new, c.Of()); !slices.Contains(cells, text) {
			cells = append(cells, text)
		}
	}
	t := report.Table{Head: []string{"Requested", "Recorded"}, Rows: [][]string{
		{
			"Matrix cell",
			strings.Join(append([]string{l.Block + ", " + verdict.Pairs(l.Knobs, "=", " ")}, cells...), "\n"),
		},
		{"Harness", fmt.Sprintf("%s: %s per side, interleaved in session %s", p.Run.Start.Tool,
			verdict.Launches(len(new)), pair.New.Session)},
		{"Command", "`" + report.Applied(p.Store, p.Run) + "`"},
		{"Server before", started(old[0])},
		{"Server after", started(l)},
		{"Hardware and software", cmp.Or(verdict.Pairs(l.Fingerprint, " ", ", "), missing)},
		{
			"Commits",
			"before: " + cmp.Or(strings.Join(report.Commits(old[0]), ", "),
				missing+" (the engine has no source block)") + "\nafter: " +
				cmp.Or(strings.Join(report.Commits(l), ", "), missing),
		},
		{"Evidence", cmp.Or(strings.Join(verdict.Lines(report.Proofs(p.Store, d)), "\n"), missing)},
		{"Accuracy", accuracy(d)},
	}}
	p.Table(t)
	p.Table(report.ComparisonTable(pair.Metrics, pair.Old.Variant+" (before)", pair.New.Variant+" (after)"))
	for _, n := range pair.Notes {
		p.Line("- %s", verdict.Sentence(n))
	}
	for _, n := range report.ComparisonNotes(pair.Metrics) {
		p.Line("- %s", report.Raw(n))
	}
	p.Line("\n%s\n", report.Raw(upstream))
}

// upstream are the rules that no record of mxflow can meet.
const upstream = `Left to you: vLLM asks for the purpose, the test plan with its command, and the results before and after. llama.cpp asks for llama-bench and llama-perplexity before and after, test-backend-ops if ggml changed, and one change per pull request; it only accepts descriptions written by people.`

// started is how a server was started.
func started(l *ledger.Launch) string {
	return "`" + strings.ReplaceAll(cmp.Or(report.StartedAs(l), "not recorded"), "`", "'") + "`"
}

// accuracy is what was checked of the answers.
func accuracy(d *ledger.Decision) string {
	return cmp.Or(strings.Join(verdict.Lines(report.Accuracy(d)), "\n"), missing+" (answers were not compared)")
}
