package steps

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// given is what a case says was measured: of its one feature, or of each.
func (k *skeleton) given(s *sketch, feature, phase string) string {
	p := k.res.Plan
	type part struct{ name, of string }
	var parts []part
	if f := p.Feature(feature); f != nil {
		for _, a := range f.Alternatives {
			parts = append(parts, part{a.Name, f.Name})
		}
		if len(parts) == 0 {
			parts = []part{{f.Name, f.Name}}
		}
	} else {
		for _, f := range (&decideGate{lab: &Lab{Plan: p}, phase: p.Phase(phase)}).features() {
			parts = append(parts, part{f.Name, f.Name})
		}
	}
	ownRoot := func(name string) bool {
		f := p.Feature(name)
		return f != nil && f.BuildsOn.Kind != plans.OnBaseline
	}
	if len(parts) == 1 && (feature == "" || parts[0].name == feature) {
		return s.of(parts[0].of).text("  ", ownRoot(parts[0].of))
	}
	var b strings.Builder
	for _, part := range parts {
		if f := s.features[part.of]; f != nil {
			fmt.Fprintf(&b, "  given %s {\n%s  }\n", quotedHCL(part.name), f.text("    ", ownRoot(part.of)))
		}
	}
	return b.String()
}

// unused is a name that no case has.
func (k *skeleton) unused(name string) string {
	const longest = 190
	if r := []rune(name); len(r) > longest/3 && len(name) > longest {
		name = strings.TrimSpace(string(r[:longest/3]))
	}
	for i, free := 2, name; ; i++ {
		if !k.names[free] {
			return free
		}
		free = fmt.Sprintf("%s (%d)", name, i)
	}
}

// quotedHCL is a text of one line in quotes, as a plan writes it.
func quotedHCL(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", "$${", "%{", "%%{").Replace(s) + `"`
}

// doubts are comments over a case that shows a rule pass which passes only on a
// loss: to write it down without a word would bless a slip of the sign.
func doubts(rules []*plans.Rule, rule *plans.Rule, want verdict.Verdict) string {
	var b strings.Builder
	for _, r := range rules {
		if want != verdict.Pass || rule != nil && r != rule || r.Program == nil || r.Program.OnlyWorse == "" {
			continue
		}
		line := "# Look at " + strconv.Quote(r.Name) + " first:"
		for _, word := range strings.Fields(r.Program.OnlyWorse) {
			if len(line)+1+len(word) > 84 {
				b.WriteString(line + "\n")
				line = "#"
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
