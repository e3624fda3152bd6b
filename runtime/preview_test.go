package runtime

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// What waits for a gate to be decided runs whichever way that goes, and the preview
// may not say that it takes a pass.
func TestPreviewSaysOnWhatItDepends(t *testing.T) {
	g := graphOf(t,
		node("phase.a", KindStep),
		node("phase.b", KindGate, Need{"phase.a", Passed}),
		node("phase.c", KindGate, Need{"phase.a", Decided}),
	)
	v := &verdicts{of: map[string]verdict.Verdict{}}
	preview, err := runnerOf(g, newMemory(), v.step).Reconcile()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "phase.a passes", "phase.a is decided"} {
		if got := preview[i].If; got != want {
			t.Errorf("%s: if %q, want %q", preview[i].Node.ID, got, want)
		}
	}
}
