package prompt

import "fmt"

const (
	// mostInOne bounds the tokens of one prompt with its context, mostInAll those
	// of all prompts of a cell, and mostMessages their number. All are made before
	// the first is sent, so that making them takes no time of what is measured,
	// and a token takes five bytes or so of memory, several times while its prompt
	// is fitted.
	mostInOne    = 20_000_000
	mostInAll    = 400_000_000
	mostMessages = 4_000_000
)

// room looks whether there is memory for a spec's prompts. Without it a cell
// would end the whole run, and with it the engine's, when memory is used up.
func (s Spec) room() error {
	all, messages := 0, 0
	for series, n := range map[string]int{"warmup": s.Warmup, "measured": s.Requests} {
		for index := range n {
			one := s.Depth + s.SystemTokens
			for turn := range max(s.Turns, 1) {
				messages++
				switch {
				case s.Data == nil:
					one += s.length(series, index, turn)
				case s.Data.Trace() && series == "measured" && turn == 0 && index < len(s.Data.Rows):
					one += s.Data.Rows[index].Input
				}
				if one > mostInOne {
					return fmt.Errorf("a prompt of %d tokens or more with its context, and at most %d can be made: ask for shorter ones", one, mostInOne)
				}
				if messages > mostMessages {
					return fmt.Errorf("more than %d messages: ask for fewer requests or turns", mostMessages)
				}
			}
			if all += one; all > mostInAll {
				return fmt.Errorf("the %d prompts and %d for warm-up have more than %d tokens together, for which there is no memory: ask for fewer requests, or for shorter prompts", s.Requests, s.Warmup, mostInAll)
			}
		}
	}
	return nil
}
