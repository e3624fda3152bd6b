package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Traffic is what was sent of a trace, and what was left out or cut.
func Traffic(t *measure.TraceRun) string {
	length := time.Duration(t.Seconds * float64(time.Second)).Round(time.Second)
	text := fmt.Sprintf("%s of %s in %s", verdict.Count(t.Requests, "request"), t.Format, length)
	if t.Conversations < t.Requests {
		text += fmt.Sprintf(", in %s", verdict.Count(t.Conversations, "conversation"))
	}
	if t.Speed != 1 {
		text += fmt.Sprintf(", %g× as fast as recorded", t.Speed)
	}
	parts := []string{text}
	if t.PromptTokens > 0 && t.Texts == 0 {
		parts = append(parts, verdict.Number(float64(t.SharedTokens)/float64(t.PromptTokens), "share")+
			" of prompt tokens begin an earlier prompt")
	}
	if t.Cut > 0 {
		parts = append(parts, fmt.Sprintf("%s cut to %d tokens, %s of all prompt tokens lost",
			verdict.Count(t.Cut, "prompt"), t.CutTo,
			verdict.Number(float64(t.CutTokens)/float64(t.CutTokens+t.PromptTokens), "share")))
	}
	for why, n := range sorted.All(t.Skipped) {
		parts = append(parts, fmt.Sprintf("%s left out: %s", verdict.Count(n, "row"), why))
	}
	return strings.Join(parts, "; ")
}
