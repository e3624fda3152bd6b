package lang

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestShownNumbers: a whole number has all its digits in a message, others those that count.
func TestShownNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"1234567890123456789": "1234567890123456789", "-9007199254740993": "-9007199254740993", "0": "0", "3": "3",
		"0.1": "0.1", "1e300": "1e+300", "2.50": "2.5",
	} {
		if got, _ := shown(cty.MustParseNumberVal(text)); got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}
