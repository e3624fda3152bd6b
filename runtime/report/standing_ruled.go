package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// rounding is what two numbers may differ by that are the same in two ways.
const rounding = 1e-9

// Ruling is what a rule that asks for more than a target came to: by launches of its
// own session, which need not be those of the standing table.
type Ruling struct {
	Node     string          `json:"node"`
	Rule     string          `json:"rule"`
	Verdict  verdict.Verdict `json:"verdict"`
	Sessions []string        `json:"sessions,omitempty"`
	// Asks is the number that the rule asks for where that is not the target's, and
	// Of whose launches it was decided on where these are not of the table's variant.
	Asks *float64 `json:"asks,omitempty"`
	Of   string   `json:"of,omitempty"`
}

// rulingsOn are the rules that stand and ask whether a target is beaten. knobs and
// block are what the table's launches have.
func rulingsOn(st *store.Store, t ledger.Target, knobs map[string]string, block string) (out []Ruling) {
	for _, d := range Standing(st) {
		for _, r := range d.Rules {
			for _, c := range r.Comparisons {
				if c.Test == nil || c.Test.Against != "" || c.Test.More != (t.Better == "higher") || !reads(c.Text, t.Path) {
					continue
				}
				by := Ruling{Node: d.Node, Rule: r.Name, Verdict: c.Verdict, Sessions: sessionsOf(st, c.Test.Launches)}
				if asks := c.Test.Threshold; math.Abs(asks-t.Value) > rounding*math.Abs(t.Value) {
					by.Asks = &asks
				}
				by.Of = otherThan(st, c.Test.Launches, knobs, block)
				out = append(out, by)
			}
		}
	}
	return out
}

// otherThan is whose launches these are where one has other knobs or another engine;
// empty where none has.
func otherThan(st *store.Store, ids []string, knobs map[string]string, block string) string {
	for _, id := range ids {
		l, ok := st.LaunchByID(id)
		switch {
		case !ok || l.Knobs == nil:
		case block != "" && l.Block != block:
			return l.Variant + " on " + l.Block
		case !maps.Equal(l.Knobs, knobs):
			return l.Variant
		}
	}
	return ""
}

// reads reports whether a path stands in a comparison, and not the beginning of a
// longer one.
func reads(text, path string) bool {
	for {
		_, rest, found := strings.Cut(text, path)
		if !found {
			return false
		}
		if rest == "" || !strings.ContainsAny(rest[:1], "_.[") && !isWord(rest[0]) {
			return true
		}
		text = rest
	}
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// sessionsOf are the sessions in which launches were made, each once.
func sessionsOf(st *store.Store, ids []string) (sessions []string) {
	for _, id := range ids {
		if l, ok := st.LaunchByID(id); ok && !slices.Contains(sessions, l.Session) {
			sessions = append(sessions, l.Session)
		}
	}
	return sessions
}

// otherwise says why rules came out otherwise than the table has it, where they did.
func (c *Contest) otherwise() (notes []string) {
	same := map[verdict.Verdict]string{verdict.Pass: Beaten, verdict.Fail: NotYet, verdict.Inconclusive: Open}
	for _, r := range c.Rulings {
		if c.Mean == nil || same[r.Verdict] == c.Standing || same[r.Verdict] == "" {
			continue
		}
		notes = append(notes, fmt.Sprintf("Rule %q of %s is %s, and %s is %s here: %s.", r.Rule, r.Node, r.Verdict, c.Name, c.Standing, c.why(r)))
	}
	return notes
}

// why is what a rule that came out otherwise was decided by, where that is not what
// the table shows: another number, another variant, or else other launches of one.
func (c *Contest) why(r Ruling) string {
	var causes []string
	if r.Asks != nil && c.harder(*r.Asks) == c.worse(r.Verdict) {
		word := "more"
		if c.Better == "lower" {
			word = "less"
		}
		unit := strings.TrimSuffix(" "+c.Unit, " ")
		causes = append(causes, fmt.Sprintf("the rule asks for %s than %s%s, and the target is %s%s", word, Digits(*r.Asks), unit, Digits(c.Value), unit))
	}
	if r.Of != "" {
		causes = append(causes, fmt.Sprintf("it was decided on launches of %s, and this table takes those of %s", r.Of, c.Variant))
	}
	if len(causes) > 0 {
		return strings.Join(causes, "; ")
	}
	own := "of its session"
	if len(r.Sessions) > 0 {
		own = "of session " + verdict.And(r.Sessions)
	}
	return fmt.Sprintf("the rule was decided on the launches %s up to the look that decided, at the plan's error rates; this table takes all of session %s, with plain 95 %% intervals", own, c.Session)
}

// harder reports whether a number is harder to beat than the target's.
func (c *Contest) harder(asks float64) bool { return asks > c.Value == (c.Better == "higher") }

// worse reports whether a rule came out worse than the table has it.
func (c *Contest) worse(v verdict.Verdict) bool {
	return v == verdict.Fail || v == verdict.Inconclusive && c.Standing == Beaten
}
