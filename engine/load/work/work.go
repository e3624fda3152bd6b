// Package work determines whether two arms did the same work for what they claim: how
// much text a token covers, in prompts and in answers, whether answers differ where
// prompts do, and how fast a stream can be. Its evidence is what was sent and what
// arrived, which the engine under test does not count. It does not know whether a text is
// sound (engine/load/coherence), how launches were made or what follows: gates judge.
package work

import (
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mxflow/mxflow/engine/measure"
)

// Code names what was found.
type Code string

const (
	// PromptText is bytes of prompt per token that the engine counted, differing from the
	// parent's; AnswerText is visible characters of answers.
	PromptText Code = "prompt-text"
	AnswerText Code = "answer-text"
	// PromptCount and AnswerCount are tokens billed by the engine per token that its
	// parent's tokenizer counts in the same text, differing from the parent's.
	PromptCount Code = "prompt-count"
	AnswerCount Code = "answer-count"
)

// Finding is how the candidate's answers to a cell differ from the parent's.
type Finding struct {
	Code Code
	Cell string
	// Parent and Candidate are means: bytes, characters or tokens per token, or shares.
	Parent, Candidate float64
	// Sigmas is the difference in standard errors.
	Sigmas float64
}

const (
	// minSigmas is how certain a difference of many answers must be: 1 in 16,000 by
	// chance, for each of a few comparisons (see sure).
	minSigmas = 4
	// minText is the share by which the text per token must differ. Answers of one model
	// on the same kind of prompts agree within 1% over a few dozen; a tenth of an answer
	// claimed but never sent is a difference of 10%.
	minText = 0.05
	// minCount is the same for answers counted by one tokenizer, which allows for text
	// that it would split differently.
	minCount = 0.02
	// minVisible is the same for visible text beside such a count, which also counts white
	// space: half of the tokens, but not text of another kind.
	minVisible = 0.3
	// Fewest is how many answers of an arm are needed.
	Fewest = 4
)

// Arm is the work of one arm.
type Arm struct {
	// Samples are those of all its launches.
	Samples []measure.Sample
	// Counted are some of them, counted again.
	Counted []Counted
}

// Counted is the tokens of a request in a cell, counted again by the parent's tokenizer.
type Counted struct {
	Cell           string
	Prompt, Answer Count
}

// Count is the tokens of one text: as billed by the engine that received or generated it,
// and as counted by the parent's tokenizer, which is 0 if unknown.
type Count struct {
	Billed, Counted int
}

// Compare compares the work of two arms, cell by cell; few are the cells with too few
// answers to compare.
func Compare(parent, candidate Arm) (found []Finding, few []string) {
	theirs, ours := byCell(parent.Samples), byCell(candidate.Samples)
	for _, cell := range slices.Sorted(maps.Keys(ours)) {
		a, b := theirs[cell], ours[cell]
		if len(a) < Fewest || len(b) < Fewest {
			few = append(few, cell)
			continue
		}
		// A tokenizer's count is more certain than how much text a token covers, and does
		// not depend on the kind of text.
		of := func(count func(Counted) Count) (x, y moments, known bool) {
			x, y = countedAgain(parent.Counted, cell, count), countedAgain(candidate.Counted, cell, count)
			return x, y, x.n >= Fewest && y.n >= Fewest
		}
		var looks []Finding
		if x, y, known := of(func(c Counted) Count { return c.Prompt }); known {
			looks = append(looks, apartBy(PromptCount, minText, x, y))
		} else {
			looks = append(looks, prompts(a, b))
		}
		if x, y, known := of(func(c Counted) Count { return c.Answer }); known {
			looks = append(looks, apartBy(AnswerCount, minCount, x, y), answers(minVisible, a, b))
		} else {
			looks = append(looks, answers(minText, a, b))
		}
		for _, f := range looks {
			if f.Code != "" {
				f.Cell = cell
				found = append(found, f)
			}
		}
	}
	return found, few
}

func byCell(samples []measure.Sample) map[string][]measure.Sample {
	cells := map[string][]measure.Sample{}
	for _, s := range samples {
		if s.Measured() && s.Err == "" {
			cells[s.Workload] = append(cells[s.Workload], s)
		}
	}
	return cells
}

// text is all that an engine generated for a request.
func text(s measure.Sample) string { return s.Reasoning + s.Text + s.Tools }

// prompts compares the bytes per prompt token. Prompts of all launches are drawn from one
// distribution, so an engine that counts differently counts tokens that do not exist.
func prompts(a, b []measure.Sample) Finding {
	each := func(s measure.Sample) (float64, bool) {
		return float64(s.PromptBytes) / float64(s.PromptTokens), s.PromptBytes > 0 && s.PromptTokens > 0 && s.Turn == 0
	}
	return apartBy(PromptText, minText, meanOf(a, each), meanOf(b, each))
}

// answers compares the visible characters per generated token, which must be within such a
// share of each other: white space can be sent without computing anything, and code and
// tables have as much of it in both arms. It uses token counts only from the engine that
// gives the answer, and only text that arrived: tokens claimed but not sent, or sent in
// pieces, show.
func answers(least float64, a, b []measure.Sample) Finding {
	each := func(s measure.Sample) (float64, bool) {
		return float64(utf8.RuneCountInString(measure.Visible(text(s)))) / float64(s.OutputTokens), s.OutputTokens > 0 && s.TokenSource != measure.SourceEvents
	}
	return apartBy(AnswerText, least, meanOf(a, each), meanOf(b, each))
}

// countedAgain is tokens billed per token counted.
func countedAgain(all []Counted, cell string, count func(Counted) Count) moments {
	var values []float64
	for _, c := range all {
		if n := count(c); c.Cell == cell && n.Billed > 0 && n.Counted > 0 {
			values = append(values, float64(n.Billed)/float64(n.Counted))
		}
	}
	return momentsOf(values)
}

// apartBy is a finding if means of ratios are certainly apart, by at least such a share.
func apartBy(code Code, least float64, x, y moments) Finding {
	if x.n < Fewest || y.n < Fewest || x.mean <= 0 && y.mean <= 0 {
		return Finding{}
	}
	f := Finding{Code: code, Parent: x.mean, Candidate: y.mean, Sigmas: apart(x, y)}
	if math.Abs(x.mean-y.mean) < least*max(x.mean, y.mean) || !sure(f.Sigmas, x, y) {
		return Finding{}
	}
	return f
}

// moments are of n values.
type moments struct {
	n              int
	mean, variance float64
}

func meanOf(samples []measure.Sample, each func(measure.Sample) (float64, bool)) moments {
	var values []float64
	for _, s := range samples {
		if v, ok := each(s); ok {
			values = append(values, v)
		}
	}
	return momentsOf(values)
}

func momentsOf(values []float64) (m moments) {
	m.n = len(values)
	for _, v := range values {
		m.mean += v / float64(m.n)
	}
	for _, v := range values {
		m.variance += (v - m.mean) * (v - m.mean) / float64(max(m.n-1, 1))
	}
	return m
}

// sure reports whether a difference is more than chance. With few values the standard
// error is uncertain too: the quantile is that of Student's distribution, by the first
// term of Fisher and Cornish's expansion.
func sure(sigmas float64, x, y moments) bool {
	df := float64(x.n + y.n - 2)
	return sigmas >= minSigmas*(1+(minSigmas*minSigmas+1)/(4*df))
}

// apart is the difference of two means in standard errors; infinite for values that do
// not vary at all.
func apart(x, y moments) float64 {
	d := math.Abs(x.mean - y.mean)
	if d == 0 {
		return 0
	}
	return d / math.Sqrt(x.variance/float64(x.n)+y.variance/float64(y.n))
}

const (
	// fewEvents is how many arrivals an answer needs to have a rate.
	fewEvents = 8
	// oneRead is how close together events are that a client finds in one read: they had
	// queued on their way, and only the time since the request was sent tells how long
	// they took.
	oneRead = 10 * time.Microsecond
)

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
	for _, s := range samples {
		if !s.Measured() || s.Err != "" {
			continue
		}
		events, arrivals := 0, 0
		var first, last time.Duration
		for _, e := range s.Events {
			if !e.HasText() {
				continue
			}
			if events++; events == 1 {
				first = e.At
			}
			if events == 1 || e.At-last > oneRead {
				arrivals++
			}
			last = e.At
		}
		if events < fewEvents {
			continue
		}
		r.Of++
		rate := float64(events) / max(last, 1).Seconds()
		if arrivals >= fewEvents {
			rate = max(rate, float64(arrivals-1)/(last-first).Seconds())
		}
		r.Highest = max(r.Highest, rate)
		if rate > most {
			r.Requests++
		}
	}
	return r
}
