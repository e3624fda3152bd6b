package levels

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// What one level could not tell shows nothing wrong in the next: a baseline whose memory was
// read too seldom is inconclusive, not invalid.
func TestSkippedLevels(t *testing.T) {
	blocks := []*plans.Block{{Kind: "stress"}, {Kind: "kernels"}, {Kind: "profile"}}
	for was, want := range map[verdict.Verdict]verdict.Verdict{
		verdict.Inconclusive: verdict.Inconclusive, verdict.Fail: verdict.Invalid,
		verdict.Invalid: verdict.Invalid, verdict.Error: verdict.Invalid,
	} {
		all := skippedLevels(blocks, ledger.Level{Name: "stress", Verdict: was})
		if len(all) != 3 || all[0].Verdict != was || all[1].Verdict != want || all[2].Verdict != want {
			t.Errorf("after %s: %+v", was, all)
		}
	}
}
