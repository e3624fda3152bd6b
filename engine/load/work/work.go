// Package work knows whether two arms did the same work for what they claim: how much
// text a token stands for, in prompts and in answers, whether answers differ where
// prompts do, and how fast a stream can be. Its evidence is what was sent and what
// arrived, which the engine under test does not count. It does not know whether a text
// is sound (engine/load/coherence), how launches were made or what follows: gates judge.
package work

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Code names what was found.
type Code string

const (
	// PromptText is bytes of prompt for each token that the engine counted, other
	// than the parent's; AnswerText the same of answers.
	PromptText Code = "prompt-text"
	AnswerText Code = "answer-text"
	// PromptCount and AnswerCount are tokens that the engine billed for each that its
	// parent's tokenizer counts in the same text, other than the parent's.
	PromptCount Code = "prompt-count"
	AnswerCount Code = "answer-count"
	// Same is the share of prompts that got one and the same answer, Echoed a share of
	// the answers that their prompts hold; both beyond the parent's.
	Same   Code = "same"
	Echoed Code = "echoed"
)

// Finding is in what the candidate's answers to a cell differ from the parent's.
type Finding struct {
	Code Code
	Cell string
	// Parent and Candidate are means: bytes a token, tokens a token, or shares.
	Parent, Candidate float64
	// Sigmas is by how many standard errors they differ.
	Sigmas float64
}

const (
	// minSigmas is how sure a difference of many answers must be: 1 in 16,000 by chance,
	// of each of a few comparisons (see sure).
	minSigmas = 4
	// minText is the share by which the text of a token must differ. Answers of one
	// model on the same kind of prompts agree within 1% over a few dozen; a tenth of
	// an answer that was claimed and never sent is a difference of 10%.
	minText = 0.05
	// minCount is the same of answers that one tokenizer counted, which leaves room for
	// text that it would cut elsewhere.
	minCount = 0.02
	// minSame and minEchoed are shares beyond the parent's.
	minSame   = 0.3
	minEchoed = 0.4
	// Fewest is how many answers of an arm say anything.
	Fewest = 4
)

// Arm is what one arm did.
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

// Count is the tokens of one text: what the engine billed that was sent it or made it,
// and what the parent's tokenizer counts, which is 0 where that is not known.
type Count struct {
	Billed, Counted int
}

// Compare compares what two arms did for what they claim, cell by cell; few are the
// cells of too few answers to compare.
func Compare(parent, candidate Arm) (found []Finding, few []string) {
	theirs, ours := byCell(parent.Samples), byCell(candidate.Samples)
	for _, cell := range slices.Sorted(maps.Keys(ours)) {
		a, b := theirs[cell], ours[cell]
		if len(a) < Fewest || len(b) < Fewest {
			few = append(few, cell)
			continue
		}
		// What a tokenizer counts is surer than how much text a token stands for, and does
		// not mind text of another kind.
		of := func(count func(Counted) Count) (x, y moments, known bool) {
			x, y = countedAgain(parent.Counted, cell, count), countedAgain(candidate.Counted, cell, count)
			return x, y, x.n >= Fewest && y.n >= Fewest
		}
		looks := []Finding{same(a, b), echoed(a, b)}
		if x, y, known := of(func(c Counted) Count { return c.Prompt }); known {
			looks = append(looks, apartBy(PromptCount, minText, x, y))
		} else {
			looks = append(looks, prompts(a, b))
		}
		if x, y, known := of(func(c Counted) Count { return c.Answer }); known {
			looks = append(looks, apartBy(AnswerCount, minCount, x, y))
		} else {
			looks = append(looks, answers(a, b))
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

// prompts compares the bytes that one token of a prompt stands for. Prompts of all
// launches are drawn from one distribution, so that an engine that counts otherwise
// counts what is not there.
func prompts(a, b []measure.Sample) Finding {
	each := func(s measure.Sample) (float64, bool) {
		return float64(s.PromptBytes) / float64(s.PromptTokens), s.PromptBytes > 0 && s.PromptTokens > 0 && s.Turn == 0
	}
	return ratio(PromptText, a, b, each)
}

// answers compares the bytes of text that one generated token stands for. It takes no
// count of tokens from any but the engine that gives the answer, and no text that did not
// arrive: tokens that were claimed and not sent, or sent in pieces, show.
func answers(a, b []measure.Sample) Finding {
	each := func(s measure.Sample) (float64, bool) {
		return float64(len(text(s))) / float64(s.OutputTokens), s.OutputTokens > 0 && s.TokenSource != measure.SourceEvents
	}
	return ratio(AnswerText, a, b, each)
}

// ratio compares means of which the candidate's must be within a share of the
// parent's.
func ratio(code Code, a, b []measure.Sample, each func(measure.Sample) (float64, bool)) Finding {
	return apartBy(code, minText, meanOf(a, each), meanOf(b, each))
}

// countedAgain is tokens billed for each that was counted.
func countedAgain(all []Counted, cell string, count func(Counted) Count) moments {
	var values []float64
	for _, c := range all {
		if n := count(c); c.Cell == cell && n.Billed > 0 && n.Counted > 0 {
			values = append(values, float64(n.Billed)/float64(n.Counted))
		}
	}
	return momentsOf(values)
}

// apartBy is a finding where means of ratios are surely apart, by such a share at least.
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

const (
	// BeginBytes is how much two engines of one model say alike nearly always where they
	// continue from one text: two or three tokens, whose choice is rarely a near-tie. Of
	// more, a coarse format of a small model says too little alike (docs/trust.md).
	BeginBytes = 12
	// fewestLooks is how many answers that were asked for again say anything.
	fewestLooks = 6
	// agreeing is how often the parent must say again what it said for its word to
	// count, and unlikely the chance of the difference.
	agreeing, unlikely = 0.5, 2e-3
	// unlike is the share of that below which the candidate's agreement is another
	// model's, and doubt the chance that what few answers show is so by accident: weights
	// in 5 bits let a model of 135 million parameters say the same in 3 of 10 answers,
	// and what is not this model's text agrees in none or one.
	unlike, doubt = 1.0 / 4, 0.05
)

// Begins is the beginning of an answer, as far as it is compared.
func Begins(answer string) string {
	answer = strings.TrimSpace(answer)
	if len(answer) > BeginBytes {
		answer = strings.ToValidUTF8(answer[:BeginBytes], "")
	}
	return answer
}

// Look is how two answers to one prompt begin, and how long the first took for a token,
// ms; 0 where that is not known.
type Look struct {
	Was, Is string
	Took    float64
}

// alike reports whether the answers agree, as far as a limit let the shorter go.
func (l Look) alike() bool {
	return l.Was != "" && l.Is != "" && (strings.HasPrefix(l.Was, l.Is) || strings.HasPrefix(l.Is, l.Was))
}

// Agreement is how often the parent said again what was answered before.
type Agreement struct {
	Own, OwnOf     int // by itself, in another launch
	Other, OtherOf int // by the candidate
}

// Agree counts answers that begin alike. An answer that a limit cut short counts as far
// as it goes.
func Agree(own, other []Look) (a Agreement) {
	alike := func(looks []Look) (n, of int) {
		for _, l := range looks {
			if l.Was == "" && l.Is == "" {
				continue
			}
			of++
			if l.alike() {
				n++
			}
		}
		return n, of
	}
	a.Own, a.OwnOf = alike(own)
	a.Other, a.OtherOf = alike(other)
	return a
}

// Known reports whether the parent agrees with itself often enough to judge others.
func (a Agreement) Known() bool {
	return a.OwnOf >= fewestLooks && a.OtherOf >= fewestLooks && float64(a.Own) >= agreeing*float64(a.OwnOf)
}

// Unlike reports whether the candidate surely says what its parent says to the same
// prompt far less often than the parent does again: it is another model, or none. What
// a change of kernels or formats does to the first tokens is less.
func (a Agreement) Unlike() bool {
	own := float64(a.Own) / float64(a.OwnOf)
	return a.Known() && atMost(a.Other, a.OtherOf, unlike*own) < doubt && Fisher(a.Own, a.OwnOf, a.Other, a.OtherOf) < unlikely
}

const (
	// fewer is the share of the agreement of an arm's slower answers below which that of
	// its faster ones is another model's, and chancy the chance of such a difference.
	fewer, chancy = 0.75, 1e-4
)

// Halves is how often the parent said again what an arm answered faster, for a token,
// than its median answer, and what it answered slower.
type Halves struct{ Fast, FastOf, Slow, SlowOf int }

// Halve splits answers to one cell.
func Halve(looks []Look) (h Halves) {
	timed := slices.DeleteFunc(slices.Clone(looks), func(l Look) bool { return l.Took <= 0 || l.Was == "" && l.Is == "" })
	slices.SortStableFunc(timed, func(a, b Look) int { return cmp.Compare(a.Took, b.Took) })
	fast := Agree(timed[:len(timed)/2], timed[len(timed)/2:])
	return Halves{fast.Own, fast.OwnOf, fast.Other, fast.OtherOf}
}

// Split reports whether the parent surely says less of the faster answers again than of
// the slower ones, and of its own does not: some are not its model's, and these make the
// speed. What slows an honest answer (a longer prompt, a fuller batch, a text that is hard
// to draft) lets it agree less, if anything.
func (h Halves) Split(own Halves) bool {
	return h.apart() && !own.apart() && Fisher(h.Slow, h.SlowOf, h.Fast, h.FastOf) < chancy
}

func (h Halves) apart() bool {
	return float64(h.Fast*h.SlowOf) < fewer*float64(h.Slow*h.FastOf)
}

// atMost is the chance of at most k of n, each with chance p.
func atMost(k, n int, p float64) (sum float64) {
	for i := range k + 1 {
		sum += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// Fisher is the chance that at least k of k+l agreements fall among n of n+m answers:
// Fisher's exact test, one-sided.
func Fisher(k, n, l, m int) (p float64) {
	for i := k; i <= min(n, k+l); i++ {
		if j := k + l - i; j <= m {
			p += math.Exp(logChoose(n, i) + logChoose(m, j) - logChoose(n+m, k+l))
		}
	}
	return min(p, 1)
}

// logChoose is the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(k) - lg(n-k)
}

const (
	// sameBytes is how much of two answers must be the same, from the beginning, and
	// leastBytes how long an answer must be to say anything.
	sameBytes, leastBytes = 64, 24
	// byChance is how likely a most frequent answer may be as frequent by chance.
	byChance = 1e-3
)

// same looks for one answer to several prompts: the candidate's most frequent one, which
// its parent gives as often where a model has little to say. How many answers are there
// twice says less, since in few of them that hangs on which prompts were drawn.
func same(a, b []measure.Sample) Finding {
	theirs, ofTheirs := prompted(a)
	ours, of := prompted(b)
	if of < Fewest || ofTheirs < Fewest {
		return Finding{}
	}
	most := ""
	for _, answer := range slices.Sorted(maps.Keys(ours)) {
		if most == "" || len(ours[answer]) > len(ours[most]) {
			most = answer
		}
	}
	k, l := len(ours[most]), len(theirs[most])
	f := Finding{Code: Same, Parent: float64(l) / float64(ofTheirs), Candidate: float64(k) / float64(of)}
	if k < 2 || f.Candidate-f.Parent < minSame || Fisher(k, of, l, ofTheirs)*float64(len(ours)) >= byChance {
		return Finding{}
	}
	return f
}

// prompted are the prompts of each answer, by its beginning, and how many there are.
func prompted(all []measure.Sample) (answers map[string]map[string]bool, prompts int) {
	answers = map[string]map[string]bool{}
	for _, s := range all {
		key := strings.TrimSpace(text(s))
		if key = key[:min(len(key), sameBytes)]; len(key) < leastBytes || s.PromptSum == "" {
			continue
		}
		if answers[key] == nil {
			answers[key] = map[string]bool{}
		}
		if !answers[key][s.PromptSum] {
			answers[key][s.PromptSum], prompts = true, prompts+1
		}
	}
	return answers, prompts
}

// echoed looks for prompts that are given back.
func echoed(a, b []measure.Sample) Finding {
	return beyond(Echoed, a, b, minEchoed, func([]measure.Sample) func(measure.Sample) (float64, bool) {
		return func(s measure.Sample) (float64, bool) {
			n := len(text(s))
			return float64(s.EchoedBytes) / float64(max(n, 1)), n >= leastBytes
		}
	})
}

// beyond compares shares of which the candidate's may not exceed the parent's by more
// than so much.
func beyond(code Code, a, b []measure.Sample, most float64, of func([]measure.Sample) func(measure.Sample) (float64, bool)) Finding {
	x, y := meanOf(a, of(a)), meanOf(b, of(b))
	if x.n < Fewest || y.n < Fewest {
		return Finding{}
	}
	f := Finding{Code: code, Parent: x.mean, Candidate: y.mean, Sigmas: apart(x, y)}
	if y.mean-x.mean < most || !sure(f.Sigmas, x, y) {
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

// sure reports whether a difference is more than chance. Of few values the standard
// error is uncertain too: the quantile is that of Student's distribution, by the first
// term of Fisher and Cornish's expansion.
func sure(sigmas float64, x, y moments) bool {
	df := float64(x.n + y.n - 2)
	return sigmas >= minSigmas*(1+(minSigmas*minSigmas+1)/(4*df))
}

// apart is by how many standard errors two means differ; infinite for values that do
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
	// oneRead is how close together events are that a client finds in one read: they
	// had piled up on their way, and only the time since the request was sent says how
	// long they took.
	oneRead = 10 * time.Microsecond
)

// Rate is streams that were faster than one can be.
type Rate struct {
	// Requests were, Of so many with a rate; Highest is the highest, a second.
	Requests, Of int
	Highest      float64
}

// TooFast finds measured answers that came faster than an engine can make them, so many
// events a second at most: by the arrivals between the first and the last, or by all
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

const (
	// shingle is how many bytes in a row an answer and its prompt must have in common.
	shingle = 16
	// mostEcho bounds the work for one answer.
	mostEcho = 1 << 16
)

// Echo is how many bytes of an answer stand in its prompt too, in runs of 16 and more.
func Echo(prompt, answer string) (bytes int) {
	prompt, answer = prompt[:min(len(prompt), mostEcho)], answer[:min(len(answer), mostEcho)]
	if len(prompt) < shingle || len(answer) < shingle {
		return 0
	}
	has := make(map[string]struct{}, len(prompt))
	for i := range len(prompt) - shingle + 1 {
		has[prompt[i:i+shingle]] = struct{}{}
	}
	upTo := 0
	for i := range len(answer) - shingle + 1 {
		if _, ok := has[answer[i:i+shingle]]; ok {
			bytes += i + shingle - max(i, upTo)
			upTo = i + shingle
		}
	}
	return bytes
}
