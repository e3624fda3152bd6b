package preview

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
)

// TestDecidedFirst: what was never decided is not decided again.
func TestDecidedFirst(t *testing.T) {
	n := &runtime.Node{ID: "feature.f"}
	for because, want := range map[code.Code]string{code.First: "decide", code.RulesChanged: "re-decide"} {
		if row := previewRow(runtime.Planned{Node: n, Choice: runtime.Choice{Action: runtime.Redecide, Because: verdict.New(because)}}); row[1] != want {
			t.Errorf("%s: %q, want %s", because, row[1], want)
		}
	}
}
