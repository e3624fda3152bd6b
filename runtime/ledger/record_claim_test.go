package ledger

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

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
		{"of nothing", []*Decision{decided(2, 1, verdict.Pass)}, "that is not what stands before it"},
		{"of another than stands", []*Decision{decided(1, 0, verdict.Pass), decided(2, 0, verdict.Pass), decided(3, 1, verdict.Pass)}, "that is not what stands before it"},
		{"of another verdict", []*Decision{decided(1, 0, verdict.Fail), decided(2, 1, verdict.Pass)}, "that is not what stands before it"},
		{"of itself", []*Decision{decided(1, 0, verdict.Pass), decided(2, 2, verdict.Pass)}, "only an earlier one"},
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
