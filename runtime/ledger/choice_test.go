package ledger

import (
	"strings"
	"testing"
	"time"
)

// TestChoicesAreChecked: a decision with two winners, or with a word that is no
// verdict, is no record.
func TestChoicesAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		d    Decision
		want string
	}{
		"one winner":        {Decision{Alternatives: []Alternative{{Name: "a", Verdict: "pass", Chosen: true}, {Name: "b", Verdict: "fail"}}}, ""},
		"none":              {Decision{Alternatives: []Alternative{{Name: "a", Verdict: "invalid"}}, Confirmations: []Confirmation{{Engine: "vllm.big"}}}, ""},
		"two winners":       {Decision{Alternatives: []Alternative{{Name: "a", Verdict: "pass", Chosen: true}, {Name: "b", Verdict: "pass", Chosen: true}}}, "both a and b"},
		"a word":            {Decision{Alternatives: []Alternative{{Name: "a", Verdict: "great"}}}, "unknown verdict of alternative a"},
		"no word":           {Decision{Alternatives: []Alternative{{Name: "a"}}}, "unknown verdict of alternative a"},
		"a word of another": {Decision{Confirmations: []Confirmation{{Engine: "vllm.big", Verdict: "great"}}}, "unknown verdict on engine.vllm.big"},
	} {
		c.d.Node, c.d.Kind, c.d.Verdict, c.d.Attempt = "feature.x", "feature", "pass", 1
		err := (&Record{Type: "decision", Run: "r", Time: time.Now().UTC(), Decision: &c.d}).check()
		if err == nil && c.want == "" {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
