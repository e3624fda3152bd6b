package load

import (
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Deviation is prompts that did not have the requested length.
type Deviation struct {
	// Requests is how many of Of measured ones deviated, Far how many of them by more
	// than the seams of words explain in a vocabulary that no probe met.
	Requests, Of, Far int
	// Unknown is the number of requests for which the engine did not report it.
	Unknown int
	// Least and Most are the shortest and the longest prompt, in tokens by the engine's
	// count, without context; 0 if it counted none.
	Least, Most int
}

const (
	// lengthRoom tokens, and lengthShare of a prompt, is how far an engine's count may
	// differ from the fitted length.
	lengthRoom  = 2
	lengthShare = 0.01
)

// Deviating compares the engine's own counts of prompt tokens with those requested. It
// cannot check later turns of a conversation: their context is known from the same count.
func Deviating(samples []measure.Sample) Deviation {
	var found Deviation
	for s := range measure.Answered(samples) {
		want := s.RequestedPrompt
		if s.Turn > 0 || want == 0 {
			continue
		}
		found.Of++
		if s.PromptTokens < 0 {
			found.Unknown++
			continue
		}
		n := s.PromptTokens - s.ContextTokens
		if n != want {
			found.Requests++
		}
		if off := max(n-want, want-n); off > lengthRoom && float64(off) > lengthShare*float64(want) {
			found.Far++
		}
		if found.Least == 0 || n < found.Least {
			found.Least = n
		}
		found.Most = max(found.Most, n)
	}
	return found
}

// Lateness is how much later than intended the measuring client acted.
type Lateness struct {
	// Over is how many of Of were later than the limit.
	Over, Of int
	// P99 is the 99th percentile by the estimator of all other percentiles, which for
	// fewer than about 70 values is the largest; Max the largest.
	P99, Max time.Duration
	// Late is set if P99 exceeds the limit, and not by a single value: the machine
	// hiccups occasionally, and a client that cannot keep up is late repeatedly. It is
	// false without values: then nothing is known, and Of is 0.
	Late bool
}

// Lag is how late the client sent the measured requests of an open loop, failed ones
// included, after they were due: schedule and concurrency cap would have allowed them,
// and the client did not send. A closed loop has no schedule; there Delayed detects a
// client that cannot keep up.
func Lag(samples []measure.Sample, limit time.Duration) Lateness {
	var late []float64
	for _, s := range samples {
		if s.OpenLoop && s.Measured() {
			late = append(late, float64(s.Start-s.Due))
		}
	}
	return lateness(late, limit)
}

// Delayed is how much later than requested the client was woken, between two times on the
// recording's clock, by the series measure.ClientDelay.
func Delayed(delay measure.Series, from, to, limit time.Duration) Lateness {
	var late []float64
	for i, at := range delay.At {
		if at >= from && at <= to {
			late = append(late, delay.Value[i]*float64(time.Millisecond))
		}
	}
	return lateness(late, limit)
}

// ReadLate is how late the client read the measured answers that show no pace because of
// it (measure.Sample.ReadLate): Over of Of. It is Late if these are most: so few do not
// move medians.
func ReadLate(samples []measure.Sample) Lateness {
	var found Lateness
	for s := range measure.Answered(samples) {
		if found.Of++; s.ReadLate() {
			found.Over++
			found.Max = max(found.Max, s.Late)
		}
	}
	found.Late = 2*found.Over > found.Of
	return found
}

func lateness(late []float64, limit time.Duration) Lateness {
	found := Lateness{Of: len(late)}
	if found.Of == 0 {
		return found
	}
	slices.Sort(late)
	for _, l := range late {
		if l > float64(limit) {
			found.Over++
		}
	}
	found.P99 = time.Duration(measure.Quantile(late, 0.99))
	found.Max = time.Duration(late[len(late)-1])
	found.Late = found.P99 > limit && found.Over > 1
	return found
}

const (
	// fewestEvents is how many text events an answer needs to show whether they came
	// together, or how fast.
	fewestEvents = 8
	// together is the maximum time between two events that came together: a client that
	// reads a backlog is faster. oneRead is that between events that it finds in one read:
	// only the time since the request was sent tells how long they took.
	together = measure.FastestStep
	oneRead  = 10 * time.Microsecond
)

// Buffered is answers that were held back on their way.
type Buffered struct {
	// Requests is how many were, Of how many have enough events to tell.
	Requests, Of int
	// Longest is the longest wait for such an answer's first event.
	Longest time.Duration
}

// FindBuffered finds measured answers that came in one piece: the first text event together
// with most of the others. No engine computes that way: the first token comes from the
// prompt and each other one from its own step, even if a speculative step yields many. So
// they were held back by a server process too busy to send, or by a buffering proxy; then
// TTFT, ITL and decode speed measure that, and only the total time is the engine's.
//
// Answers whose first event came within limit do not count: they can have been held back,
// and the times off, by that little at most. Nor do those generated in less time than
// that, by the pace of the answers that came in pieces: a client scheduled a few
// milliseconds late finds all of their events at once. Nor do those that it noticed to
// have read so late that an engine can have generated them meanwhile.
func FindBuffered(samples []measure.Sample, limit time.Duration) Buffered {
	var found Buffered
	var whole []piece
	var gaps []float64
	for s := range measure.Answered(samples) {
		p := pieceOf(s)
		if p.events < fewestEvents {
			continue
		}
		found.Of++
		switch {
		case 2*p.together <= p.events:
			gaps = append(gaps, float64(p.ended-p.began)/float64(p.events-1))
		case p.began > limit && s.Late < time.Duration(p.together)*together:
			whole = append(whole, p)
		}
	}
	slices.Sort(gaps)
	for _, p := range whole {
		if len(gaps) == 0 || gaps[(len(gaps)-1)/2]*float64(p.events-1) > float64(limit) {
			found.Requests++
			found.Longest = max(found.Longest, p.began)
		}
	}
	return found
}

// Rate is streams that were faster than possible.
type Rate struct {
	// Requests is how many were, Of how many have a rate; Highest is the highest, per
	// second.
	Requests, Of int
	Highest      float64
}

// TooFast finds measured answers that came faster than an engine can make them, at most
// so many events per second: by the arrivals between the first and the last, or by all
// events since the request was sent.
func TooFast(samples []measure.Sample, most float64) (r Rate) {
	for s := range measure.Answered(samples) {
		p := pieceOf(s)
		if p.events < fewestEvents {
			continue
		}
		r.Of++
		rate := float64(p.events) / max(p.ended, 1).Seconds()
		if p.reads >= fewestEvents {
			rate = max(rate, float64(p.reads-1)/(p.ended-p.began).Seconds())
		}
		r.Highest = max(r.Highest, rate)
		if rate > most {
			r.Requests++
		}
	}
	return r
}

// piece is how the text events of an answer arrived.
type piece struct {
	// events with text, of which together came with the first, in so many reads.
	events, together, reads int
	began, ended            time.Duration
}

func pieceOf(s measure.Sample) (p piece) {
	whole := true
	for _, e := range s.Events {
		if !e.HasText() {
			continue
		}
		if p.events == 0 {
			p.began = e.At
		} else if e.At-p.ended > together {
			whole = false
		}
		if whole {
			p.together++
		}
		if p.events == 0 || e.At-p.ended > oneRead {
			p.reads++
		}
		p.events, p.ended = p.events+1, e.At
	}
	return p
}

// CacheUse is prompt tokens that were found in a cache though they should have been
// computed, or computed though they should have been found.
type CacheUse struct {
	// Requests is how many of Of measured ones had such tokens, Tokens their total.
	Requests, Of, Tokens int
	// Unknown is the number of requests for which the engine did not report it. Zero
	// Requests prove nothing unless it is 0.
	Unknown int
	// Worst is the largest share of a prompt, or of a context, from 0 to 1.
	Worst float64
}

// add adds a request with so many unexpected tokens of a number that could have been.
func (c *CacheUse) add(s measure.Sample, tokens, of int) {
	c.Of++
	switch {
	case s.CachedTokens < 0:
		c.Unknown++
	case tokens > 0:
		c.Requests++
		c.Tokens += tokens
		c.Worst = max(c.Worst, float64(tokens)/float64(max(of, tokens)))
	}
}

// CachingTrace finds what a cache held of prompts of a trace beyond what earlier ones began with, in all: which request
// finds it depends on the order in which an engine computes those that wait.
func CachingTrace(samples []measure.Sample, template int) (contaminated CacheUse) {
	cached, shared, prompt := 0, 0, 0
	for s := range measure.Answered(samples) {
		contaminated.Of++
		if s.CachedTokens < 0 {
			contaminated.Unknown++
			continue
		}
		cached, prompt = cached+s.CachedTokens, prompt+s.PromptTokens
		shared += s.Common() + template
	}
	if cached > shared {
		contaminated.Requests, contaminated.Tokens = contaminated.Of, cached-shared
		contaminated.Worst = float64(cached-shared) / float64(max(prompt, 1))
	}
	return contaminated
}

// Caching finds measured requests with more in the cache than was put there on purpose: a
// context sent alone before, and the earlier turns of a conversation. What all prompts
// start with may be cached as well: template tokens of a chat template, which show as a
// small share in every request, and a system prompt of so many tokens. It also finds the
// opposite: contexts that were put there and not found, entirely or in part. The last
// block of a context is hardly ever cached, since caches hold whole blocks.
func Caching(samples []measure.Sample, template, system int) (contaminated, recomputed CacheUse) {
	type request struct {
		cell   string
		index  int
		warmup bool
	}
	sent := map[request]bool{}
	for _, s := range samples {
		if s.Context && s.Err == "" {
			sent[request{s.Workload, s.Index, s.Warmup}] = true
		}
	}
	for s := range measure.Answered(samples) {
		expected := template + min(system, s.ContextTokens)
		if s.Turn > 0 || sent[request{s.Workload, s.Index, s.Warmup}] {
			expected = template + s.ContextTokens
			if s.ContextTokens > 0 {
				recomputed.add(s, s.ContextTokens-s.CachedTokens, s.ContextTokens)
			}
		}
		contaminated.add(s, s.CachedTokens-expected, s.PromptTokens-expected)
	}
	return contaminated, recomputed
}
