package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
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

// An attempt that only holds another claim against an outcome says what the one
// before it said, and names who decided that.
func TestClaimAttempts(t *testing.T) {
	decided := func(attempt, of int, v verdict.Verdict) *Decision {
		return &Decision{Node: "feature.x", Kind: KindFeature, Attempt: attempt, Of: of, Verdict: v}
	}
	for _, c := range []struct {
		name string
		list []*Decision
		says string
	}{
		{"a copy", []*Decision{decided(1, 0, verdict.Pass), decided(2, 1, verdict.Pass)}, ""},
		{"a copy of a copy", []*Decision{decided(1, 0, verdict.Pass), decided(2, 1, verdict.Pass), decided(3, 1, verdict.Pass)}, ""},
		{"of nothing", []*Decision{decided(2, 1, verdict.Pass)}, "differs from that record"},
		{"of another than stands", []*Decision{decided(1, 0, verdict.Pass), decided(2, 0, verdict.Pass), decided(3, 1, verdict.Pass)}, "differs from that record"},
		{"of another verdict", []*Decision{decided(1, 0, verdict.Fail), decided(2, 1, verdict.Pass)}, "differs from that record"},
		{"of itself", []*Decision{decided(1, 0, verdict.Pass), decided(2, 2, verdict.Pass)}, "not earlier"},
	} {
		h := newHistory()
		var err error
		for _, d := range c.list {
			if _, err = h.add(&Record{Type: "decision", Run: "r", Time: noon, Decision: d}); err != nil {
				break
			}
		}
		if err == nil && c.says != "" || err != nil && (c.says == "" || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
