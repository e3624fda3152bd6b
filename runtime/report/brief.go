package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Brief is why a decision came out as it did, on one line: what broke, the level that did not
// pass, or the rule that decided, by its number, and how many more rules there are.
func Brief(d *ledger.Decision) string {
	if root := Broke(d.Why()); d.Verdict == verdict.Error && root != nil && d.Kind != ledger.KindGate {
		return verdict.Brief(*root)
	}
	for _, a := range d.Alternatives {
		if a.Chosen {
			return a.Name + " wins: " + byRules(d)
		}
	}
	if len(d.Alternatives) > 0 && Deciding(d) != nil {
		return "no alternative passes: " + byRules(d)
	}
	if c := unconfirmed(d); c != nil {
		return verdict.Brief(c.Reason)
	}
	var confirmed []string
	for _, c := range d.Confirmations {
		if c.Verdict.Unlocks() {
			confirmed = append(confirmed, c.Engine)
		}
	}
	if len(confirmed) > 0 && d.Verdict == verdict.Pass {
		return byRules(d) + ", confirmed on " + verdict.And(confirmed)
	}
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass && d.Verdict != verdict.Pass {
			return verdict.Brief(unquoted(l.Reason()))
		}
	}
	return byRules(d)
}

// byRules is the rule that decided; a gate that passes has only their number, as features show
// theirs. Without rules it is the best of what was compared, or the first reason.
func byRules(d *ledger.Decision) string {
	var rules []verdict.Rule
	for _, r := range d.Rules {
		if r.Decides || d.Kind == ledger.KindGate {
			rules = append(rules, r)
		}
	}
	deciding, best := Deciding(d), Best(d.Rows)
	switch {
	case len(best) > 0 && d.Verdict == verdict.Pass:
		top, _, _ := strings.Cut(best[0], " (")
		return strings.TrimPrefix(firstLine(d.Why())+"; best by "+top, "; ")
	case deciding == nil && len(d.Levels) > 0 && len(d.Why()) == 0:
		var names []string
		for _, l := range d.Levels {
			names = append(names, l.Name)
		}
		return strings.Join(names, ", ")
	case d.Kind == ledger.KindPhase && d.Verdict == verdict.Pass: // its features and steps passed
		return ""
	case deciding == nil:
		return firstLine(slices.DeleteFunc(d.Why(), func(r verdict.Reason) bool {
			return d.Verdict != verdict.Pass && r.Verdict == verdict.Pass
		}))
	case d.Kind == ledger.KindGate && d.Verdict == verdict.Pass:
		return verdict.Count(len(rules), "rule")
	}
	text := deciding.Brief()
	if d.Kind == ledger.KindGate { // its feature has the causes
		text = RuleBrief(*deciding)
	}
	if n := len(rules) - 1; n > 0 {
		text += fmt.Sprintf(", +%d more", n)
	}
	return text
}

// RuleBrief is a rule by what decided it: the level that did not pass, whose causes have a line
// elsewhere, or a number.
func RuleBrief(r verdict.Rule) string {
	if len(r.Reasons) > 0 {
		if level, found := levelBelow(r.Reasons[0]); found {
			return r.Name + ": " + verdict.New(code.LevelIs).On(level.Subject).Is(level.Verdict).String()
		}
	}
	return r.Brief()
}

func firstLine(reasons []verdict.Reason) string {
	if len(reasons) == 0 {
		return ""
	}
	return verdict.Brief(reasons[0])
}

// Broke is the first engine that broke among what some reasons follow from.
func Broke(reasons []verdict.Reason) *verdict.Reason {
	for i, r := range reasons {
		if r.AnyOf(code.LaunchBroke, code.EngineDied, code.EngineEnded, code.PortShared) {
			return &reasons[i]
		}
		if root := Broke(r.Causes); root != nil {
			return root
		}
	}
	return nil
}

// levelBelow is the level that did not pass and that alone causes a reason.
func levelBelow(r verdict.Reason) (level verdict.Reason, found bool) {
	for len(r.Causes) == 1 {
		if r = r.Causes[0]; r.Kind == code.Level.Kind {
			return r, true
		}
	}
	return r, false
}
