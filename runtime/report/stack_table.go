package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// StackTable has a row for each accepted feature, in order. when writes a time.
func StackTable(s Stack, when func(time.Time) string) Table {
	t := Table{Head: []string{"Feature", "On", "Sets", "Accepted by", "Verdict", "Gate", "Decided"}}
	for _, f := range s.Features {
		var gains []string
		for _, g := range f.Gains {
			gains = append(gains, g.String())
		}
		t.Rows = append(t.Rows, []string{f.Name(), orDash(f.On), KnobWords(f.Set), strings.Join(gains, "\n"), string(f.Verdict), orDash(f.Gate), when(f.Time)})
	}
	return t
}

// Name is the feature, or the alternative that it is.
func (f Accepted) Name() string {
	if f.Chosen != "" {
		return f.Chosen
	}
	return f.Feature
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// KnobWords are knob values in one line, by name.
func KnobWords(knobs map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(knobs)) {
		out = append(out, k+" = "+knobs[k])
	}
	return strings.Join(out, ", ")
}

// Sum is the stack in one line: "baseline + kv_cache + moe".
func (s Stack) Sum() string {
	text := ledger.Baseline
	for _, f := range s.Features {
		text += " + " + f.Feature
	}
	return text
}

// stack is the accepted stack, and how its parts go together.
func (p *page) stack() {
	p.line("## Accepted stack")
	p.line("")
	s := AcceptedStack(p.st)
	if len(s.Features) == 0 {
		p.line("Nothing was accepted.")
		p.line("")
		return
	}
	p.line("%s", s.Sum())
	p.line("")
	p.table(StackTable(s, func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }))
	if len(s.Knobs) > 0 {
		p.line("Knobs: %s.", KnobWords(s.Knobs))
		p.line("")
	}
}
