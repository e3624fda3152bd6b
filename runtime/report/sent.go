package report

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// Sent says what was sent in a cell as the field does: "pp2048 tg32 @ d4096, c16".
// Lengths that differ between requests are "pp~512", by what the engine counted.
func Sent(launches []*ledger.Launch, cell string) string {
	for _, l := range launches {
		for _, c := range l.Cells {
			if c.Cell != cell {
				continue
			}
			text := length("pp", c.Prompt, l, cell+".prompt_tokens") + " " + length("tg", c.Output, l, cell+".output_tokens")
			if c.Depth > 0 {
				text += fmt.Sprintf(" @ d%d", c.Depth)
			}
			switch {
			case c.Rate > 0:
				text += fmt.Sprintf(", %g req/s", c.Rate)
			case c.Concurrency > 1:
				text += fmt.Sprintf(", c%d", c.Concurrency)
			}
			return text
		}
	}
	return "–"
}

func length(what string, asked int, l *ledger.Launch, counted string) string {
	if asked > 0 {
		return fmt.Sprintf("%s%d", what, asked)
	}
	if n := medianOf(l, counted); n != "" {
		return what + "~" + n
	}
	return strings.TrimSpace(what + "*")
}
