package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/lipgloss/table"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// table prints what a run decided, and why.
func (a *app) table(s runtime.Summary, end *ledger.End, c *clock) {
	if a.ending != nil {
		return
	}
	var rows [][]string
	for _, r := range s.Rows {
		if row := tableRow(r); row != nil {
			rows = append(rows, row)
		}
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"phase", "decision", "verdict", "why"}, rows)
	a.comparisons(s)
	a.lastWords(s)
	took := time.Since(c.began)
	switch {
	case end.Reason == "interrupted":
		fmt.Fprintf(a.stdout, "\nInterrupted after %s. What was decided is kept; apply again goes on.\n", rough(took.Seconds()))
	case end.Exit == verdict.ExitBroken && end.Reason != "finished":
		fmt.Fprintf(a.stdout, "\nStopped after %s: %s\n", rough(took.Seconds()), end.Reason)
	default:
		fmt.Fprintf(a.stdout, "\n%s after %s (exit status %d).\n", closing[end.Verdict], rough(took.Seconds()), end.Exit)
	}
	for _, r := range s.Rows {
		if r.Reused && !r.Decision.Verdict.Unlocks() {
			fmt.Fprintln(a.stdout, "Outcomes marked (kept) rest on unchanged inputs; --rerun NAME measures again.")
			break
		}
	}
}

var closing = map[verdict.Verdict]string{
	verdict.Pass:         "Every gate passed",
	verdict.Waived:       "Every gate passed or is waived",
	verdict.Fail:         "Not every gate passed: fail",
	verdict.Invalid:      "Not every gate passed: invalid",
	verdict.Inconclusive: "Not every gate passed: inconclusive",
	verdict.Error:        "The engine or the harness broke",
}

// tableRow shows what people decide by: baseline, steps, features and gates.
// The measurements below a feature show up in its reasons.
func tableRow(r runtime.Row) []string {
	n := r.Node
	if n.Kind == runtime.KindBenchmark || n.Kind == runtime.KindQualify && n.ID != runtime.BaselineID {
		return nil
	}
	row := []string{n.Phase, label(n), "", ""}
	switch {
	case r.Decision != nil:
		row[2] = string(r.Decision.Verdict)
		row[3] = why(r.Decision)
		if r.Reused {
			row[3] = "(kept) " + row[3]
		}
		if r.Waived {
			row[2] += ", waived"
		}
		if r.Overruled != "" {
			row[3] = r.Overruled + "\n" + row[3]
		}
	case r.Locked != "":
		row[2], row[3] = "locked", r.Locked
	default:
		row[2], row[3] = "-", "not run"
	}
	return row
}

func label(n *runtime.Node) string {
	switch n.Kind {
	case runtime.KindFeature:
		return "feature " + n.Feature
	case runtime.KindCriteria:
		if n.FeatureBlock.Engine == "" {
			return "feature " + n.Feature + ", first engine"
		}
		return "feature " + n.FeatureBlock.Name
	case runtime.KindGate:
		return "gate"
	case runtime.KindPhase:
		return "phase"
	case runtime.KindStep:
		return "step " + n.StepBlock.Kind + " " + n.StepBlock.Name
	}
	return n.ID
}

var verdictColours = map[string]string{
	"pass": "2", "waived": "6", "fail": "1", "invalid": "5", "error": "1", "inconclusive": "3", "locked": "8",
	"fail, waived": "6", "inconclusive, waived": "6", "invalid, waived": "6",
}

// printTable prints columns, coloured on a terminal only.
func (a *app) printTable(head []string, rows [][]string) {
	writeTable(a.stdout, head, rows, colours(a.stdout))
}

func writeTable(w io.Writer, head []string, rows [][]string, colour bool) {
	renderer := lipgloss.NewRenderer(w)
	if !colour {
		renderer.SetColorProfile(3) // termenv.Ascii
	}
	cell := renderer.NewStyle().PaddingRight(2)
	rows = folded(rows, len(head)-1)
	t := table.New().Headers(head...).Rows(rows...).
		Border(lipgloss.NormalBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderRow(false).
		StyleFunc(func(row, col int) lipgloss.Style {
			s := cell
			if row == table.HeaderRow {
				return s.Bold(colour)
			}
			if row < len(rows) && col < len(rows[row]) {
				s = s.MaxWidth(maxColumn + 2)
				if col == len(head)-1 {
					s = cell.Width(min(maxColumn, max(lipgloss.Width(head[col]), widest(rows, col))) + 2)
				}
				if c, ok := verdictColours[rows[row][col]]; ok && colour {
					s = s.Foreground(lipgloss.Color(c))
				}
			}
			return s
		})
	fmt.Fprintln(w, trimRight(t.String()))
}

// maxColumn keeps the reasons readable; longer ones wrap.
const maxColumn = 96

// folded breaks one column's lines between words only: lipgloss would also break
// after a hyphen, and so between a minus sign and its number.
func folded(rows [][]string, col int) [][]string {
	out := slices.Clone(rows)
	for i, r := range rows {
		if col >= len(r) || lipgloss.Width(r[col]) <= maxColumn {
			continue
		}
		lines := strings.Split(r[col], "\n")
		for j, l := range lines {
			if lipgloss.Width(l) > maxColumn {
				lines[j] = wrap(l, maxColumn)
			}
		}
		out[i] = slices.Clone(r)
		out[i][col] = strings.Join(lines, "\n")
	}
	return out
}

func widest(rows [][]string, col int) int {
	n := 4
	for _, r := range rows {
		for _, line := range strings.Split(r[col], "\n") {
			n = max(n, lipgloss.Width(line))
		}
	}
	return n
}

func trimRight(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}
