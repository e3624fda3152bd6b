package coherence

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

// measured calls use for every sample that was answered and is neither a warm-up
// nor a context that was only cached.
func measured(samples []measure.Sample, use func(measure.Sample)) {
	for _, s := range samples {
		if s.Measured() && s.Err == "" {
			use(s)
		}
	}
}

// name is what a measured request is called in messages.
func name(s measure.Sample) string {
	if s.Turn > 0 {
		return fmt.Sprintf("request %d, turn %d", s.Index, s.Turn)
	}
	return fmt.Sprintf("request %d", s.Index)
}

// generatedText is all that an engine generated for a request.
func generatedText(s measure.Sample) string { return s.Reasoning + s.Text + s.Tools }

// excerpt is the beginning of a text for a message.
func excerpt(text string) string { return fmt.Sprintf("%.40q", strings.TrimSpace(text)) }
