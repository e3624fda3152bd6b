package load

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// Incoherent is Coherent for all measured answers: of each that does not read as
// text, it says which request it is of, what is wrong with it and how it begins.
// It is for answers that end by themselves; Relative is for those that are forced
// on.
func Incoherent(samples []measure.Sample) (found []string) {
	measured(samples, func(s measure.Sample) {
		text := generatedText(s)
		if ok, why := Coherent(text); !ok {
			found = append(found, fmt.Sprintf("%s %s: %s (%s)", s.Workload, name(s), why, excerpt(text)))
		}
	})
	return found
}

// generatedText is all that an engine generated for a request.
func generatedText(s measure.Sample) string { return s.Reasoning + s.Text + s.Tools }

// excerpt is the beginning of a text for a message.
func excerpt(text string) string { return fmt.Sprintf("%.40q", strings.TrimSpace(text)) }
