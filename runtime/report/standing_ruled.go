package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Ruling is what a rule that asks for more than a target came to: by launches of its
// own session, which need not be those of the standing table.
type Ruling struct {
	Node     string          `json:"node"`
	Rule     string          `json:"rule"`
	Verdict  verdict.Verdict `json:"verdict"`
	Sessions []string        `json:"sessions,omitempty"`
}

// rulingsOn are the rules that stand and ask whether a target is beaten.
func rulingsOn(st *store.Store, t ledger.Target) (out []Ruling) {
	for _, d := range Standing(st) {
		for _, r := range d.Rules {
			for _, c := range r.Comparisons {
				if c.Test != nil && c.Test.More == (t.Better == "higher") && reads(c.Text, t.Path) {
					out = append(out, Ruling{d.Node, r.Name, c.Verdict, sessionsOf(st, c.Test.Launches)})
				}
			}
		}
	}
	return out
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
		own := "of its session"
		if len(r.Sessions) > 0 {
			own = "of session " + verdict.And(r.Sessions)
		}
		notes = append(notes, fmt.Sprintf("Rule %q of %s is %s, and %s is %s here: the rule was decided on the launches %s up to the look that decided, at the plan's error rates; this table takes all of session %s, with plain 95 %% intervals.",
			r.Rule, r.Node, r.Verdict, c.Name, c.Standing, own, c.Session))
	}
	return notes
}
