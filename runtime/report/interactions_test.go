package report

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestInteractionSays: one pair is measured in several sessions, each of which is
// named, and a small interaction says which way it goes.
func TestInteractionSays(t *testing.T) {
	s := stacked(t)
	all := Interactions(s.st)
	if len(all) != 1 || all[0].Feature != "head" || !strings.HasPrefix(all[0].Says(), "Measured with head: cache and moe together are 7.3% worse") {
		t.Fatalf("%+v", all)
	}
	i := Interaction{"head", "s-2", ledger.Interference{Metric: "chat.tg", Parts: []string{"cache", "moe"}, Ratio: -0.0003}}
	if got := i.Says(); !strings.HasPrefix(got, "Measured with head, session s-2: cache and moe together are 0.03% worse in chat.tg") {
		t.Error(got)
	}
}
