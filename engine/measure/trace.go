package measure

import "time"

// TraceRun is the recorded traffic that a cell was sent.
type TraceRun struct {
	// File is its name without folders, Format the tool that wrote it, and Speed how many times faster it was sent.
	File   string  `json:"file"`
	Format string  `json:"format"`
	Speed  float64 `json:"speed"`
	// Requests were sent in Conversations over Seconds, Texts of them as recorded; the others had PromptTokens, with
	// SharedTokens of which an earlier one began.
	Requests      int     `json:"requests"`
	Conversations int     `json:"conversations"`
	Texts         int     `json:"texts,omitempty"`
	Seconds       float64 `json:"seconds"`
	PromptTokens  int     `json:"prompt_tokens,omitempty"`
	SharedTokens  int     `json:"shared_tokens,omitempty"`
	// Cut prompts were cut to CutTo tokens, and lost CutTokens. Skipped counts rows of the file that are no requests,
	// by why.
	Cut       int            `json:"cut,omitempty"`
	CutTo     int            `json:"cut_to,omitempty"`
	CutTokens int            `json:"cut_tokens,omitempty"`
	Skipped   map[string]int `json:"skipped,omitempty"`
}

// lengths are the metrics of first tokens by the length of the prompt, each up to so many tokens.
var lengths = []struct {
	metric string
	most   int
}{{"ttft_to_256", 256}, {"ttft_to_1k", 1024}, {"ttft_to_4k", 4096}, {"ttft_to_16k", 16384}, {"ttft_longer", 1 << 62}}

// byLength is the metric of first tokens for a prompt of so many tokens.
func byLength(tokens int) string {
	for _, l := range lengths {
		if tokens <= l.most {
			return l.metric
		}
	}
	return ""
}

// prefixes adds what prompts of a trace had in common, and what of it the engine found by what it reports of each
// request.
func (o single) prefixes(c CellRun, all []answer) {
	if c.Trace == nil || c.Trace.Texts > 0 {
		return
	}
	prompt, shared, cached, known := 0, 0, 0, true
	for _, s := range all {
		if s.values == nil {
			continue
		}
		if !plausible(s.PromptTokens) {
			return
		}
		prompt, shared, cached = prompt+s.PromptTokens, shared+s.Common(), cached+max(s.CachedTokens, 0)
		known = known && s.CachedTokens >= 0
	}
	o.ratio("prefix_shared", float64(shared), float64(prompt), true)
	o.ratio("prefix_found", float64(cached), float64(shared), known)
}

// InFlight is how many requests of a cell had arrived and were not answered, every so long from the first arrival on:
// it grows where an engine falls behind a trace.
func InFlight(c CellRun, samples []Sample, every time.Duration, times int) (n []int) {
	for i := range times {
		at, flying := c.From+time.Duration(i)*every, 0
		for _, s := range samples {
			if s.Measured() && s.Workload == c.Cell && len(s.Events) > 0 && s.Scheduled <= at &&
				at < s.Start+s.Events[len(s.Events)-1].At {
				flying++
			}
		}
		n = append(n, flying)
	}
	return n
}
