package variant

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans"
)

// TestBuildsThatAreNoCommands: a message quotes what is wrong as the plan writes it.
func TestBuildsThatAreNoCommands(t *testing.T) {
	for _, c := range []struct {
		build any
		says  string
	}{
		{"make", `this is "make".`},
		{[]any{nil}, "entry 1 is null, which is not a list"},
		{[]any{[]any{"make"}, "<x>"}, `entry 2 is "<x>", which is not a list`},
		{[]any{[]any{}}, "entry 1 is empty."},
		{[]any{[]any{"make", nil}}, "entry 1 contains null, which is not text."},
		{[]any{[]any{map[string]any{"a": 1.0}}}, `entry 1 contains {"a":1}, which is not text.`},
		{[]any{[]any{"make", "-j8"}}, ""},
	} {
		wrong := checkSource(&plans.Block{Kind: "source", Attrs: map[string]any{"build": c.build}})
		if c.says == "" && len(wrong) == 0 {
			continue
		}
		if c.says == "" || len(wrong) != 1 || !strings.Contains(wrong[0].Detail, c.says) {
			t.Errorf("%v: %v, want %q", c.build, wrong, c.says)
		}
	}
}
