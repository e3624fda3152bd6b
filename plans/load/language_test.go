package load

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/planstest"
)

// TestEveryExampleIsShown: examples.hcl has no example of a block that is gone.
func TestEveryExampleIsShown(t *testing.T) {
	shown := map[string]bool{}
	Describe(planstest.Registry()).Walk(func(_ string, d *lang.BlockDoc) { shown[d.Example] = true })
	for _, text := range strings.Split(strings.TrimSpace(examples), "\n}\n")[1:] {
		text = strings.TrimSpace(strings.TrimSuffix(text, "\n}")) + "\n}"
		if !shown[text] {
			t.Errorf("not shown:\n%s", text)
		}
	}
}
