// Package work determines whether two arms did the same work for what they claim: how
// much text a token covers, in prompts and in answers, whether answers differ where
// prompts do, and how fast a stream can be. Its evidence is what was sent and what
// arrived, which the engine under test does not count. It does not know whether a text is
// sound (engine/load/coherence), how launches were made or what follows: gates judge.
package work

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
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
	// Same is the share of prompts that got the same answer, Echoed the share of the
	// answers that is copied from their prompts; both beyond the parent's.
	Same   Code = "same"
	Echoed Code = "echoed"
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
	// minSame and minEchoed are shares beyond the parent's.
	minSame   = 0.3
	minEchoed = 0.4
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
		looks := []Finding{same(a, b), echoed(a, b)}
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

const (
	// BeginBytes is how much two engines of one model nearly always generate alike when
	// continuing from one text: two or three tokens, whose choice is rarely a near-tie.
	// Beyond that, a coarse format of a small model agrees too little (docs/trust.md).
	BeginBytes = 12
	// fewestLooks is how many repeated answers are needed.
	fewestLooks = 6
	// agreeing is how often the parent must repeat itself to count as a reference, and
	// unlikely the chance of the difference.
	agreeing, unlikely = 0.5, 2e-3
	// unlike is the share of that below which the candidate's agreement is another
	// model's, and doubt the chance that what few answers show is accidental: weights in
	// 5 bits make a model of 135 million parameters repeat 3 of 10 answers, and text that
	// is not this model's agrees in none or one.
	unlike, doubt = 1.0 / 4, 0.05
)

// Begins is the start of an answer, as far as it is compared.
func Begins(answer string) string {
	answer = strings.TrimSpace(answer)
	if len(answer) > BeginBytes {
		answer = strings.ToValidUTF8(answer[:BeginBytes], "")
	}
	return answer
}

// Look is how two answers to one prompt start, and how long the first took per token, ms;
// 0 if unknown.
type Look struct {
	Was, Is string
	Took    float64
}

// alike reports whether the answers agree, as far as a limit allowed the shorter to go.
func (l Look) alike() bool {
	return l.Was != "" && l.Is != "" && (strings.HasPrefix(l.Was, l.Is) || strings.HasPrefix(l.Is, l.Was))
}

// Agreement is how often the parent repeated earlier answers.
type Agreement struct {
	Own, OwnOf     int // by itself, in another launch
	Other, OtherOf int // by the candidate
}

// Agree counts answers that start alike. An answer cut by a limit counts as far as it
// goes.
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

// Unlike reports whether the candidate certainly agrees with its parent on the same
// prompts far less often than the parent with itself: it is another model, or none. A
// change of kernels or formats affects the first tokens less.
func (a Agreement) Unlike() bool {
	own := float64(a.Own) / float64(a.OwnOf)
	return a.Known() && atMost(a.Other, a.OtherOf, unlike*own) < doubt && Fisher(a.Own, a.OwnOf, a.Other, a.OtherOf) < unlikely
}

const (
	// fewer is the share of the agreement of an arm's slower answers below which that of
	// its faster ones is another model's, and chancy the chance of such a difference.
	fewer, chancy = 0.75, 1e-4
)

// Halves is how often the parent repeated the answers that an arm gave faster, per token,
// than its median answer, and those that it gave slower.
type Halves struct{ Fast, FastOf, Slow, SlowOf int }

// Halve splits answers to one cell.
func Halve(looks []Look) (h Halves) {
	timed := slices.DeleteFunc(slices.Clone(looks), func(l Look) bool { return l.Took <= 0 || l.Was == "" && l.Is == "" })
	slices.SortStableFunc(timed, func(a, b Look) int { return cmp.Compare(a.Took, b.Took) })
	fast := Agree(timed[:len(timed)/2], timed[len(timed)/2:])
	return Halves{fast.Own, fast.OwnOf, fast.Other, fast.OtherOf}
}

// Split reports whether the parent certainly repeats fewer of the faster answers than of
// the slower ones, and for its own does not: some are not its model's, and these make the
// speed. What slows an honest answer (a longer prompt, a fuller batch, a text that is
// hard to draft) makes it agree less, if anything.
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

// logChoose is the logarithm of the binomial coefficient.
func logChoose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(k) - lg(n-k)
}

const (
	// sameBytes is how much of two answers must be equal, from the start, and leastBytes
	// the minimum length of an answer to compare.
	sameBytes, leastBytes = 64, 24
	// byChance is the chance below which the frequency of a most frequent answer is not
	// accidental.
	byChance = 1e-3
)

// same looks for one answer to several prompts: the candidate's most frequent one, unless
// its parent gives one as often because a model has little to say. How many answers occur
// twice says less, since with few of them that depends on which prompts were drawn.
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

// prompted are the prompts of each answer, by its start, and their number.
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

// echoed looks for prompts that are returned.
func echoed(a, b []measure.Sample) Finding {
	return beyond(Echoed, a, b, minEchoed, func([]measure.Sample) func(measure.Sample) (float64, bool) {
		return func(s measure.Sample) (float64, bool) {
			n := len(text(s))
			return float64(s.EchoedBytes) / float64(max(n, 1)), n >= leastBytes
		}
	})
}

// beyond compares shares; the candidate's may not exceed the parent's by more than so
// much.
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

const (
	// shingle is how many consecutive bytes an answer and its prompt must share.
	shingle = 16
	// mostEcho limits the work per answer.
	mostEcho = 1 << 16
)

// Echo is how many bytes of an answer are in its prompt too, in runs of 16 and more.
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
