package load

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestLateness(t *testing.T) {
	var samples []measure.Sample
	for i := range 200 {
		due := time.Duration(i) * time.Second
		samples = append(samples,
			measure.Sample{OpenLoop: true, Due: due, Start: due + time.Duration(i)*100*time.Microsecond})
	}
	samples = append(samples,
		measure.Sample{OpenLoop: true, Warmup: true, Start: time.Hour},
		measure.Sample{OpenLoop: true, Context: true, Start: time.Hour},
		measure.Sample{Start: time.Hour})
	samples[199].Err = "broken" // it was late nevertheless
	if l := Lag(samples, 10*time.Millisecond); l.Of != 200 || l.Over != 99 || !l.Late ||
		l.Max != 19900*time.Microsecond || l.P99 < 19700*time.Microsecond || l.P99 > 19900*time.Microsecond {
		t.Errorf("%+v", l)
	}
	if l := Lag(samples, 20*time.Millisecond); l.Late || l.Over != 0 {
		t.Errorf("%+v", l)
	}
	if l := Lag(samples[200:], 0); l != (Lateness{}) {
		t.Errorf("%+v", l)
	}
	series := measure.Series{At: []time.Duration{1, 2, 3, 4}, Value: []float64{50, 0.5, 3, 70}}
	if l := Delayed(series, 2, 3, time.Millisecond); l.Of != 2 || l.Over != 1 || l.Late || l.Max != 3*time.Millisecond {
		t.Errorf("%+v", l)
	}
	if l := Delayed(series, 1, 4, time.Millisecond); l.Over != 3 || !l.Late {
		t.Errorf("%+v", l)
	}
	if l := Delayed(measure.Series{}, 0, 1, time.Millisecond); l.Of != 0 || l.Late {
		t.Errorf("%+v", l)
	}
}

func TestFindings(t *testing.T) {
	s := func(prompt, output, cached int) measure.Sample {
		return measure.Sample{
			PromptTokens: prompt, OutputTokens: output, CachedTokens: cached, RequestedOutput: 32,
			RequestedPrompt: 100,
		}
	}
	warm, failed := s(1, 1, 1), s(1, 1, 1)
	warm.Warmup, failed.Err = true, "stalled"
	samples := []measure.Sample{warm, failed, s(100, 32, 0), s(100, 30, 25), s(90, 33, -1), s(-1, -1, 50)}
	if got, want := contaminated(samples, 0, 0),
		(CacheUse{Requests: 2, Of: 4, Unknown: 1, Tokens: 75, Worst: 1}); got != want {
		t.Errorf("contaminated %+v, want %+v", got, want)
	}
	if got := contaminated(samples[:4], 0, 0); got.Worst != 0.25 {
		t.Errorf("worst share %v, want 0.25", got.Worst)
	}
	if got, want := Deviating(samples),
		(Deviation{Requests: 1, Of: 4, Far: 1, Unknown: 1, Least: 90, Most: 100}); got != want {
		t.Errorf("deviating %+v, want %+v", got, want)
	}
}

// Tokens put into the cache on purpose are no contamination, but those beyond them are.
func TestExpectedInCache(t *testing.T) {
	// A template of 8 tokens, a system prompt of 20, a context of 100 with it, a prompt of 30.
	one := func(index, cached int) measure.Sample {
		return measure.Sample{
			Workload: "chat", Index: index, PromptTokens: 138, ContextTokens: 100,
			RequestedPrompt: 38, CachedTokens: cached,
		}
	}
	context := func(index int) measure.Sample {
		return measure.Sample{Workload: "chat", Index: index, Context: true, CachedTokens: 64, PromptTokens: 108}
	}
	later := func(cached int) measure.Sample {
		return measure.Sample{
			Workload: "chat", Turn: 1, PromptTokens: 300, ContextTokens: 270, RequestedPrompt: 30,
			CachedTokens: cached,
		}
	}
	for _, tt := range []struct {
		name            string
		samples         []measure.Sample
		cached, missing CacheUse
	}{
		{"a context that was cached", []measure.Sample{context(0), one(0, 108)}, CacheUse{Of: 1}, CacheUse{Of: 1}},
		{
			"and was not found",
			[]measure.Sample{context(0), one(0, 25)},
			CacheUse{Of: 1},
			CacheUse{Of: 1, Requests: 1, Tokens: 75, Worst: 0.75},
		},
		{
			"and of which nothing is known",
			[]measure.Sample{context(0), one(0, -1)},
			CacheUse{Of: 1, Unknown: 1},
			CacheUse{Of: 1, Unknown: 1},
		},
		{
			"the prompt too",
			[]measure.Sample{context(0), one(0, 123)},
			CacheUse{Of: 1, Requests: 1, Tokens: 15, Worst: 0.5},
			CacheUse{Of: 1},
		},
		{"the system prompt that all share", []measure.Sample{one(0, 28)}, CacheUse{Of: 1}, CacheUse{}},
		{
			"a context of another request",
			[]measure.Sample{context(1), one(0, 128)},
			CacheUse{Of: 1, Requests: 1, Tokens: 100, Worst: 100. / 110},
			CacheUse{},
		},
		{
			"a later turn",
			[]measure.Sample{later(256)},
			CacheUse{Of: 1},
			CacheUse{Of: 1, Requests: 1, Tokens: 14, Worst: 14. / 270},
		},
		{
			"a later turn as a whole",
			[]measure.Sample{later(300)},
			CacheUse{Of: 1, Requests: 1, Tokens: 22, Worst: 1},
			CacheUse{Of: 1},
		},
	} {
		if cached, missing := Caching(tt.samples, 8, 20); cached != tt.cached || missing != tt.missing {
			t.Errorf("%s: %+v, want %+v; recomputed %+v, want %+v", tt.name, cached, tt.cached, missing, tt.missing)
		}
	}
	if d := Deviating([]measure.Sample{one(0, 0), later(0)}); d != (Deviation{Of: 1, Least: 38, Most: 38}) {
		t.Errorf("%+v", d)
	}
}

// answerAt is a sample whose text events arrive at the given times in ms.
func answerAt(kind measure.Kind, at ...float64) measure.Sample {
	s := measure.Sample{Events: []measure.Event{{Kind: measure.KindOther, At: time.Millisecond}}}
	for _, ms := range at {
		s.Events = append(s.Events, measure.Event{Kind: kind, At: time.Duration(ms * float64(time.Millisecond))})
	}
	s.Events = append(s.Events, measure.Event{Kind: measure.KindUsage, At: time.Hour},
		measure.Event{Kind: measure.KindDone, At: time.Hour})
	return s
}

func TestHeldBack(t *testing.T) {
	// As a real vLLM sent 55 events of 128 tokens on a machine without spare time: 46 in
	// one read, and the others as they were made.
	starved := []float64{}
	for i := range 46 {
		starved = append(starved, 173+float64(i)*0.002)
	}
	starved = append(starved, 194, 222, 227, 235, 279, 285, 290, 293, 294)
	whole := make([]float64, 16)
	for i := range whole {
		whole[i] = 200
	}
	for name, c := range map[string]struct {
		sample measure.Sample
		want   Buffered
	}{
		"one piece": {
			answerAt(measure.KindText, whole...),
			Buffered{Requests: 1, Of: 1, Longest: 200 * time.Millisecond},
		},
		"reasoning": {
			answerAt(measure.KindReasoning, whole...),
			Buffered{Requests: 1, Of: 1, Longest: 200 * time.Millisecond},
		},
		"most of it": {
			answerAt(measure.KindText, starved...),
			Buffered{Requests: 1, Of: 1, Longest: 173 * time.Millisecond},
		},
		"too few to say": {answerAt(measure.KindText, whole[:7]...), Buffered{}},
		"a stream":       {answerAt(measure.KindText, 200, 201, 202, 203, 204, 205, 206, 207), Buffered{Of: 1}},
		"half of it":     {answerAt(measure.KindText, 200, 200, 200, 200, 204, 205, 206, 207), Buffered{Of: 1}},
		"a step of many": {
			answerAt(measure.KindText, 200, 210, 210, 210, 210, 210, 210, 210, 210, 210),
			Buffered{Of: 1},
		},
		"at once but at once": {answerAt(measure.KindText, 9, 9, 9, 9, 9, 9, 9, 9), Buffered{Of: 1}},
	} {
		if got := FindBuffered([]measure.Sample{c.sample}, 10*time.Millisecond); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	// What the client's own lateness explains is its doing, and not what it does not.
	for late, want := range map[time.Duration]Buffered{
		2 * time.Millisecond: {Of: 1}, time.Millisecond: {Requests: 1, Of: 1, Longest: 200 * time.Millisecond},
	} {
		s := answerAt(measure.KindText, whole...)
		if s.Late = late; FindBuffered([]measure.Sample{s}, 10*time.Millisecond) != want {
			t.Errorf("read %v late: %+v, want %+v", late, FindBuffered([]measure.Sample{s}, 10*time.Millisecond), want)
		}
	}
	warm, failed, context := answerAt(measure.KindText, whole...), answerAt(measure.KindText, whole...),
		answerAt(measure.KindText, whole...)
	warm.Warmup, failed.Err, context.Context = true, "stalled", true
	if got := FindBuffered([]measure.Sample{warm, failed, context}, 0); got != (Buffered{}) {
		t.Errorf("what is not measured counts: %+v", got)
	}
	// Answers that take 0.4 ms per token are made in 6 ms: found all at once behind
	// another's prefill, they are late by no more than that.
	quick, slow := make([]float64, 16), make([]float64, 16)
	for i := range quick {
		quick[i], slow[i] = 20+0.4*float64(i), 200+4*float64(i)
	}
	if got := FindBuffered([]measure.Sample{answerAt(measure.KindText, quick...), answerAt(measure.KindText, whole...)},
		10*time.Millisecond); got != (Buffered{Of: 2}) {
		t.Errorf("quick answers that were read at once: %+v", got)
	}
	if got := FindBuffered([]measure.Sample{answerAt(measure.KindText, slow...), answerAt(measure.KindText, whole...)},
		10*time.Millisecond); got != (Buffered{Requests: 1, Of: 2, Longest: 200 * time.Millisecond}) {
		t.Errorf("slow answers that came in one piece: %+v", got)
	}
}

// Two of four answers came within 41 µs from a machine that was busy, and their rate was the launch's.
func TestReadLate(t *testing.T) {
	answer := func(late time.Duration, ms ...float64) measure.Sample {
		s := answerAt(measure.KindText, ms...)
		s.Late = late
		return s
	}
	burst := answer(9*time.Millisecond, 20, 20.01, 20.02, 20.03, 20.041)
	slow := answer(9*time.Millisecond, 20, 30, 40, 50, 60)
	for _, c := range []struct {
		samples []measure.Sample
		want    Lateness
	}{
		{[]measure.Sample{slow, slow, slow, burst}, Lateness{Over: 1, Of: 4, Max: 9 * time.Millisecond}},
		{[]measure.Sample{slow, burst, burst, burst}, Lateness{Over: 3, Of: 4, Max: 9 * time.Millisecond, Late: true}},
		{[]measure.Sample{answer(0, 20, 20, 20), answer(9*time.Millisecond, 20)}, Lateness{Of: 2}},
		{nil, Lateness{}},
	} {
		if got := ReadLate(c.samples); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

func contaminated(samples []measure.Sample, template, system int) CacheUse {
	found, _ := Caching(samples, template, system)
	return found
}

func TestTooFast(t *testing.T) {
	at := func(first, gap time.Duration) measure.Sample {
		s := measure.Sample{Workload: "chat"}
		for i := range 20 {
			s.Events = append(s.Events, measure.Event{At: first + time.Duration(i)*gap, Kind: measure.KindText})
		}
		return s
	}
	for _, c := range []struct {
		first, gap time.Duration
		fast       bool
	}{
		{10 * time.Millisecond, time.Millisecond, false},
		{10 * time.Millisecond, 20 * time.Microsecond, true},
		{10 * time.Millisecond, time.Microsecond, false}, // in one read: it had piled up
		{10 * time.Millisecond, 0, false},
		{time.Millisecond, 0, true},
		{0, 0, true},
	} {
		if got := TooFast([]measure.Sample{at(c.first, c.gap)}, 10_000); got.Of != 1 || (got.Requests == 1) != c.fast {
			t.Errorf("first after %v, then every %v: %+v", c.first, c.gap, got)
		}
	}
	if got := TooFast([]measure.Sample{{Workload: "chat"}}, 10_000); got != (Rate{}) {
		t.Errorf("%+v", got)
	}
}

// A later turn may find its own conversation in the cache, and no more.
func TestCachingTraceOfConversations(t *testing.T) {
	for cached, want := range map[int]int{100: 0, 150: 50} {
		said := []measure.Event{{Kind: measure.KindText}}
		found := CachingTrace([]measure.Sample{
			{PromptTokens: 100, Events: said},
			{PromptTokens: 160, Turn: 1, ContextTokens: 100, CachedTokens: cached, Events: said},
		}, 0)
		if found.Tokens != want {
			t.Errorf("%d cached: %+v, want %d tokens", cached, found, want)
		}
	}
}
