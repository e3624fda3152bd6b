package preview

import (
	"testing"

	"github.com/mxflow/mxflow/runtime"
)

// TestDecidedFirst: what was never decided is not decided again.
func TestDecidedFirst(t *testing.T) {
	n := &runtime.Node{ID: "feature.f"}
	for why, want := range map[runtime.Why]string{runtime.First: "decide", runtime.RulesChanged: "re-decide"} {
		if row := previewRow(runtime.Planned{Node: n, Choice: runtime.Choice{Action: runtime.Redecide, Why: why}}); row[1] != want {
			t.Errorf("%s: %q, want %s", why, row[1], want)
		}
	}
}
