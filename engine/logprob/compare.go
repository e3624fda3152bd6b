package logprob

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Options are what a comparison cannot determine itself.
type Options struct {
	// NearTie is the gap of log-probabilities up to which two tokens count as tied.
	NearTie float64
	// Floor is the lowest log-probability that the compared engine can give a token, as
	// implied by a logit cap: -2·cap − ln(vocabulary). Without one nothing bounds the
	// divergence from above if its list omits probability.
	Floor Value
}

// Comparison is how far answers are from those of a reference.
type Comparison struct {
	// Pairs are in the order of the answers.
	Pairs []Pair `json:"pairs"`
	// Prefill are the positions of prompts and the first of each answer, Decode the
	// others. Both only contain positions that followed the same tokens in both engines:
	// up to and including the first divergence.
	Prefill Part `json:"prefill"`
	Decode  Part `json:"decode"`
	// Prompts counts the pairs in which both engines listed the prompt's tokens.
	Prompts   int  `json:"prompts"`
	Reference Side `json:"reference"`
	Got       Side `json:"got"`
	// Missing is the first position that could not be compared; nil if all could.
	Missing *MissingError `json:"missing,omitzero"`
}

// Side is what one engine's answers show by themselves.
type Side struct {
	// Perplexity of the prompts; only given if each of their tokens but the first has a
	// finite log-probability.
	Perplexity Value `json:"perplexity,omitzero"`
	Flaws      Flaws `json:"flaws"`
}

// Flaws count impossible values for a distribution. A position with any of them is not
// compared.
type Flaws struct {
	// NaN and Inf count values: -Inf, a probability of 0, is only a flaw for a token in
	// the answer.
	NaN int `json:"nan"`
	Inf int `json:"inf"`
	// Above counts probabilities above 1, Sums lists whose probabilities add up to more.
	Above int `json:"above"`
	Sums  int `json:"sums"`
	// Repeated counts lists that give one token two values.
	Repeated int `json:"repeated"`
}

// Any reports whether there is a flaw.
func (f Flaws) Any() bool { return f != Flaws{} }

// Pair is one answer and its reference.
type Pair struct {
	// Length is that of the longer answer, in tokens, Common how many agree before the
	// first difference, Agreed how many are equal at their position. After a divergence
	// engines continue different texts, so Agreed says little there.
	Length int `json:"length"`
	Common int `json:"common"`
	Agreed int `json:"agreed"`
	// Divergence is the first position that differs; nil if there is none.
	Divergence *Divergence `json:"divergence,omitzero"`
	Prefill    Part        `json:"prefill"`
	Decode     Part        `json:"decode"`
}

// Divergence is where two answers diverge.
type Divergence struct {
	// At counts from the answer's first token, which is 0.
	At int `json:"at"`
	// Reference and Got are the tokens there; nil if the answer had ended. If an engine
	// gave only IDs, Text is the word at which the answers' texts diverge.
	Reference *Alternative `json:"reference,omitzero"`
	Got       *Alternative `json:"got,omitzero"`
	// Gap is how much higher the reference's log-probability of its own token is than of
	// the other's, Counter the same for the compared engine. Not given if a list lacks
	// the other's token.
	Gap     Value `json:"gap,omitzero"`
	Counter Value `json:"counter,omitzero"`
	// Tie is set if both gaps are within Options.NearTie: rounding decided. False if a
	// gap is unknown.
	Tie bool `json:"tie"`
}

// Part summarizes positions.
type Part struct {
	// Positions that followed the same tokens in both engines, and how many of them could
	// be compared: both lists present and sound.
	Positions int `json:"positions"`
	Compared  int `json:"compared"`
	// Ranked counts the compared positions with alternatives in both lists, Argmax those
	// with the same likeliest token in both.
	Ranked int `json:"ranked"`
	Argmax int `json:"argmax"`
	// Mean, P99 and Max of the Kullback-Leibler divergence of the compared engine from
	// the reference at a position, in nats. Not given if nothing was compared.
	Mean Bounds `json:"mean,omitzero"`
	P99  Bounds `json:"p99,omitzero"`
	Max  Bounds `json:"max,omitzero"`
}

// Bounds are the limits of a number that lists of the likeliest tokens do not determine.
// High is +Inf if unbounded.
type Bounds struct {
	Low  Value `json:"low,omitzero"`
	High Value `json:"high,omitzero"`
}

// OtherPromptError is the error for answers to different prompts or requests.
type OtherPromptError struct {
	// Pair counts from 0; Position is the first token of the prompt that differs, -1 if
	// the requests do.
	Pair, Position int
}

func (e *OtherPromptError) Error() string {
	if e.Position < 0 {
		return fmt.Sprintf("answer %d and its reference belong to different requests: record the reference again", e.Pair+1)
	}
	return fmt.Sprintf("answer %d and its reference have different prompts, from token %d on: record the reference again", e.Pair+1, e.Position+1)
}

// LengthError is the error for engines that were not asked for equally much.
type LengthError struct {
	// Pair counts from 0; -1 if the number of answers differs.
	Pair           int
	Reference, Got int
}

func (e *LengthError) Error() string {
	if e.Pair < 0 {
		return fmt.Sprintf("%d answers, but %d in the reference: compare answers to the same prompts", e.Got, e.Reference)
	}
	return fmt.Sprintf("answer %d was cut off at a limit of %d tokens, but the other has %d: request the same length from both",
		e.Pair+1, min(e.Reference, e.Got), max(e.Reference, e.Got))
}

// NamesError is the error if one engine gives only token IDs and the other only texts.
type NamesError struct {
	// Pair counts from 0.
	Pair int
}

func (e *NamesError) Error() string {
	return fmt.Sprintf("answer %d and its reference name tokens differently, one by IDs and one by text: record the reference with the same kind of engine", e.Pair+1)
}

// MissingError is where log-probabilities are missing or invalid.
type MissingError struct {
	// Engine is "reference" or "got".
	Engine string `json:"engine"`
	// Pair and Position count from 0; Prompt is set for a position of the prompt.
	Pair     int  `json:"pair"`
	Position int  `json:"position"`
	Prompt   bool `json:"prompt"`
}

func (e *MissingError) Error() string {
	of := "answer"
	if e.Prompt {
		of = "prompt"
	}
	return fmt.Sprintf("no usable log-probabilities of token %d of %s %d of the %s engine", e.Position+1, of, e.Pair+1, e.Engine)
}

// Complete is an error if a position that followed the same tokens could not be compared,
// or there was none: numbers over the rest would leave out what is wrong.
func (c Comparison) Complete() error {
	if c.Missing != nil {
		return c.Missing
	}
	if c.Prefill.Compared+c.Decode.Compared == 0 {
		return &MissingError{Engine: "reference"}
	}
	return nil
}

// Compare compares answers with those of a reference to the same requests. The error is
// an *OtherPromptError, a *LengthError, a *NamesError, or a *MissingError if there is a
// text without any token; positions without log-probabilities are not an error here (see
// Comparison.Complete), since tokens can be compared without them.
func Compare(reference, got []Answer, o Options) (Comparison, error) {
	if len(reference) != len(got) {
		return Comparison{}, &LengthError{Pair: -1, Reference: len(reference), Got: len(got)}
	}
	workers := max(1, min(runtime.GOMAXPROCS(0), len(got)))
	shares, errs := make([]comparer, workers), make([]error, workers)
	pairs := make([]Pair, len(got))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			c := comparer{options: o}
			for i := len(got) * w / workers; i < len(got)*(w+1)/workers && errs[w] == nil; i++ {
				pairs[i], errs[w] = c.pair(i, &reference[i], &got[i])
			}
			shares[w] = c
		})
	}
	wg.Wait()
	var all comparer
	for w := range shares {
		if errs[w] != nil {
			return Comparison{}, errs[w]
		}
		all.add(&shares[w])
	}
	all.result.Pairs = pairs
	all.result.Prefill, all.result.Decode = all.prefill.part(), all.decode.part()
	all.result.Reference.Perplexity, all.result.Got.Perplexity = perplexity(reference), perplexity(got)
	return all.result, nil
}

// comparer is a comparison in progress. Its lists are reused at each position.
type comparer struct {
	options         Options
	result          Comparison
	prefill, decode tally
	lists           [2]list
}

// add adds the next pairs.
func (c *comparer) add(o *comparer) {
	c.prefill.add(o.prefill)
	c.decode.add(o.decode)
	c.result.Prompts += o.result.Prompts
	c.result.Reference.Flaws.add(o.result.Reference.Flaws)
	c.result.Got.Flaws.add(o.result.Got.Flaws)
	if o.result.Missing != nil {
		c.missing(*o.result.Missing)
	}
}

func (f *Flaws) add(o Flaws) {
	f.NaN += o.NaN
	f.Inf += o.Inf
	f.Above += o.Above
	f.Sums += o.Sums
	f.Repeated += o.Repeated
}

// tally collects positions.
type tally struct {
	Part
	low, high []float64
}

func (t *tally) add(o tally) {
	t.Positions += o.Positions
	t.Compared += o.Compared
	t.Ranked += o.Ranked
	t.Argmax += o.Argmax
	t.low, t.high = append(t.low, o.low...), append(t.high, o.high...)
}

func (t *tally) part() Part {
	if t.Compared > 0 {
		low, high := spread(t.low), spread(t.high)
		t.Mean, t.P99, t.Max = Bounds{low[0], high[0]}, Bounds{low[1], high[1]}, Bounds{low[2], high[2]}
	}
	return t.Part
}

// spread is mean, 99th percentile (nearest rank) and maximum. The percentile of lower
// bounds is a lower bound of the percentile, and that of upper bounds an upper bound.
func spread(values []float64) [3]Value {
	slices.Sort(values)
	n := len(values)
	var sum float64
	for _, v := range values {
		sum += v
	}
	rank := (99*n + 99) / 100
	return [3]Value{Of(sum / float64(n)), Of(values[rank-1]), Of(values[n-1])}
}

func (c *comparer) pair(i int, reference, got *Answer) (p Pair, err error) {
	if reference.Asked != got.Asked {
		return p, &OtherPromptError{Pair: i, Position: -1}
	}
	for side, a := range [2]*Answer{reference, got} {
		if len(a.Tokens) == 0 && a.Text != "" { // without tokens, only text would trivially agree
			return p, &MissingError{Engine: [2]string{"reference", "got"}[side], Pair: i}
		}
	}
	if len(reference.Tokens) > 0 && len(got.Tokens) > 0 {
		a, b := &reference.Tokens[0], &got.Tokens[0]
		if a.ID < 0 && b.ID >= 0 && b.Text == "" || b.ID < 0 && a.ID >= 0 && a.Text == "" {
			return p, &NamesError{Pair: i}
		}
	}
	var prefill, decode tally
	if err := c.prompt(i, reference.Prompt, got.Prompt, &prefill); err != nil {
		return p, err
	}
	a, b := reference.Tokens, got.Tokens
	shorter := min(len(a), len(b))
	p.Length = max(len(a), len(b))
	for p.Common < shorter && same(a[p.Common].ID, a[p.Common].Text, b[p.Common].ID, b[p.Common].Text) {
		p.Common++
	}
	p.Agreed = p.Common
	for at := p.Common; at < shorter; at++ {
		if same(a[at].ID, a[at].Text, b[at].ID, b[at].Text) {
			p.Agreed++
		}
	}
	if p.Common == shorter && len(a) != len(b) {
		end := reference.End
		if len(b) < len(a) {
			end = got.End
		}
		if end == "length" {
			return p, &LengthError{Pair: i, Reference: len(a), Got: len(b)}
		}
	}
	for at := range p.Length {
		var pos [2]*Token
		for side, tokens := range [2][]Token{a, b} {
			if at < len(tokens) {
				pos[side] = &tokens[at]
			}
		}
		if at > p.Common {
			c.look(pos) // only for flaws: they followed different tokens
			continue
		}
		if pos[0] == nil || pos[1] == nil { // one had ended: the end has no list
			c.look(pos)
			continue
		}
		part := &decode
		if at == 0 {
			part = &prefill
		}
		c.position(MissingError{Pair: i, Position: at}, pos, part)
	}
	if p.Common < p.Length {
		p.Divergence = diverged(reference, got, p.Common, c.options.NearTie)
	}
	c.prefill.add(prefill)
	c.decode.add(decode)
	p.Prefill, p.Decode = prefill.part(), decode.part()
	return p, nil
}

// prompt compares the positions of a prompt. Its first token follows nothing, and only
// counts if both engines have a list for it.
func (c *comparer) prompt(i int, reference, got []Token, t *tally) error {
	if len(reference) == 0 && len(got) == 0 {
		return nil
	}
	if len(reference) == 0 || len(got) == 0 {
		engine := "got"
		if len(reference) == 0 {
			engine = "reference"
		}
		c.missing(MissingError{Engine: engine, Pair: i, Prompt: true})
		return nil
	}
	c.result.Prompts++
	for at := range max(len(reference), len(got)) {
		if at >= len(reference) || at >= len(got) || !same(reference[at].ID, reference[at].Text, got[at].ID, got[at].Text) {
			return &OtherPromptError{Pair: i, Position: at}
		}
		if at == 0 && (reference[0].bare() || got[0].bare()) {
			continue
		}
		c.position(MissingError{Pair: i, Position: at, Prompt: true}, [2]*Token{&reference[at], &got[at]}, t)
	}
	return nil
}

// bare reports whether a position has no log-probability at all.
func (t *Token) bare() bool { return !t.LogProb.given && len(t.Top) == 0 }

// look reads lists only for their flaws.
func (c *comparer) look(pos [2]*Token) (sound [2]bool) {
	flaws := [2]*Flaws{&c.result.Reference.Flaws, &c.result.Got.Flaws}
	for side, token := range pos {
		if token != nil {
			sound[side] = c.lists[side].read(token, flaws[side])
		}
	}
	return sound
}

// position compares the lists of one position that followed the same tokens.
func (c *comparer) position(where MissingError, pos [2]*Token, t *tally) {
	t.Positions++
	sound := c.look(pos)
	if !sound[0] || !sound[1] {
		where.Engine = "reference"
		if sound[0] {
			where.Engine = "got"
		}
		c.missing(where)
		return
	}
	t.Compared++
	low, high := kl(&c.lists[0], &c.lists[1], c.options.Floor)
	t.low, t.high = append(t.low, low), append(t.high, high)
	if len(pos[0].Top) > 0 && len(pos[1].Top) > 0 {
		t.Ranked++
		if likeliest(&c.lists[0], &c.lists[1]) {
			t.Argmax++
		}
	}
}

func (c *comparer) missing(e MissingError) {
	if c.result.Missing == nil {
		c.result.Missing = &e
	}
}

// diverged describes the first position at which two answers differ.
func diverged(reference, got *Answer, at int, tie float64) *Divergence {
	d := &Divergence{At: at}
	a, b := reference.Tokens, got.Tokens
	if at < len(a) {
		d.Reference = &Alternative{Text: a[at].Text, ID: a[at].ID, LogProb: a[at].own()}
	}
	if at < len(b) {
		d.Got = &Alternative{Text: b[at].Text, ID: b[at].ID, LogProb: b[at].own()}
	}
	if d.Reference == nil || d.Got == nil {
		return d
	}
	d.Gap = difference(d.Reference.LogProb, a[at].of(*d.Got))
	d.Counter = difference(d.Got.LogProb, b[at].of(*d.Reference))
	gap, known := d.Gap.Finite()
	counter, both := d.Counter.Finite()
	d.Tie = known && both && math.Abs(gap) <= tie && math.Abs(counter) <= tie
	if d.Reference.Text == "" && d.Got.Text == "" {
		d.Reference.Text, d.Got.Text = parting(reference.Text, got.Text)
	}
	return d
}

// around is how much of a word is shown before and after the difference, in bytes.
const around = 24

// parting is the word of each text at which they diverge, with the space before it.
func parting(a, b string) (string, string) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return "", ""
	}
	from := strings.LastIndexFunc(a[:at], unicode.IsSpace)
	for from = max(from, at-around); from > 0 && !utf8.RuneStart(a[from]); { // not every script has spaces
		from--
	}
	from = max(from, 0)
	word := func(text string) string {
		first := text[from:]
		end := len(first)
		if next := strings.IndexFunc(first[at-from:], unicode.IsSpace); next > 0 {
			end = at - from + next
		}
		for end = min(end, at-from+around); end < len(first) && !utf8.RuneStart(first[end]); {
			end++
		}
		return first[:end]
	}
	return word(a), word(b)
}

func difference(a, b Value) Value {
	x, ok := a.Finite()
	y, also := b.Finite()
	if !ok || !also {
		return Value{}
	}
	return Of(x - y)
}

// own is the token's log-probability, from its list if not given separately.
func (t *Token) own() Value {
	if t.LogProb.given {
		return t.LogProb
	}
	return t.of(Alternative{Text: t.Text, ID: t.ID})
}

// of is a token's log-probability in a position's list.
func (t *Token) of(other Alternative) Value {
	for i := range t.Top {
		if same(t.Top[i].ID, t.Top[i].Text, other.ID, other.Text) {
			return t.Top[i].LogProb
		}
	}
	return Value{}
}

// same compares tokens by their IDs if both are known, else by their text.
func same(id int, text string, otherID int, otherText string) bool {
	if id >= 0 && otherID >= 0 {
		return id == otherID
	}
	return text == otherText
}

// perplexity of the prompts of all answers, with equal weight per token.
func perplexity(answers []Answer) Value {
	var sum float64
	n := 0
	for i := range answers {
		for at := range answers[i].Prompt {
			t := &answers[i].Prompt[at]
			if at == 0 && t.bare() {
				continue
			}
			v, finite := t.own().Finite()
			if !finite {
				return Value{}
			}
			sum += v
			n++
		}
	}
	if n == 0 {
		return Value{}
	}
	return Of(math.Exp(-sum / float64(n)))
}
