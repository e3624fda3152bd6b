package gates

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
)

// bound is the one side of what was shown: "at least +19.3 %".
func (w wording) bound(t *verdict.Test, low bool) string {
	word, edge := "at most", t.High
	if low {
		word, edge = "at least", t.Low
	}
	if edge == nil {
		return "beyond any number"
	}
	// Written so that it does not look like the threshold that it clears.
	text, _ := apart(*edge, t.Threshold, w.unit)
	return word + " " + unsigned(t, text)
}

func (w wording) between(t *verdict.Test) string {
	if t.Low == nil || t.High == nil {
		return "anything"
	}
	low, high := apart(*t.Low, *t.High, w.unit)
	return "between " + unsigned(t, low) + " and " + unsigned(t, high)
}

// unsigned takes the sign off a spread, which is a ratio but no change.
func unsigned(t *verdict.Test, text string) string {
	if t.Stat == "cv" {
		return strings.TrimPrefix(text, "+")
	}
	return text
}
