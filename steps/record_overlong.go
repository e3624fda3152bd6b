package steps

import (
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// overlongRoom is how many tokens an answer may have beyond what was asked for,
// and overlongShare how many of those: some servers count the end of the text,
// or the last draft of a speculative decoder, as well.
const (
	overlongRoom  = 2
	overlongShare = 0.05
)

// overlong looks for answers with more tokens than were asked for. A server that
// does not keep to the limit has done other work than the one it is compared
// with, and one that miscounts has done less than it says: both look fast.
func (r *recording) overlong(c sentCell) {
	requests, of, most, asked := 0, 0, 0, 0
	for _, s := range c.samples {
		if !s.Measured() || s.Err != "" {
			continue
		}
		of++
		n := max(s.OutputTokens, highest(s.Events))
		if s.RequestedOutput < 1 || n <= s.RequestedOutput+max(overlongRoom, int(overlongShare*float64(s.RequestedOutput))) {
			continue
		}
		requests++
		if n > most {
			most, asked = n, s.RequestedOutput
		}
	}
	if requests > 0 {
		r.invalid(c.fact(code.Overlong, verdict.Int("requests", requests), verdict.Int("of", of), verdict.Int("most", most), verdict.Int("asked", asked)))
	}
}

// highest is the highest count of tokens that came with an event.
func highest(events []measure.Event) (n int) {
	for _, e := range events {
		n = max(n, e.Tokens)
	}
	return n
}
