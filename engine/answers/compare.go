package answers

import (
	"fmt"
	"math"
	"slices"
)

// Comparison is how far answers at temperature 0 are from those of a reference: where
// tokens diverge, whether that was a tie that rounding decides, and how much the
// distributions differ.
type Comparison struct {
	// Pairs are in the order of the answers.
	Pairs []Pair
	// Prefill are the positions of prompts and the first of each answer, Decode the
	// others. Both only contain positions that followed the same tokens in both engines:
	// up to and including the first divergence.
	Prefill, Decode Part
	Reference, Got  Side
	// Missing is the first position that could not be compared; nil if all could.
	Missing *MissingError
}

// Side is what one engine's answers show by themselves.
type Side struct {
	// Perplexity of the prompts; only given if each of their tokens but the first has a
	// finite log-probability.
	Perplexity Value
	Flaws      Flaws
}

// Flaws count impossible values for a distribution. A position with any of them is not
// compared.
type Flaws struct {
	// NaN and Inf count values: -Inf, a probability of 0, is only a flaw for a token in
	// the answer.
	NaN, Inf int
	// Above counts probabilities above 1, Sums lists whose probabilities add up to more,
	// Repeated lists that give one token two values.
	Above, Sums, Repeated int
}

func (f Flaws) Any() bool { return f != Flaws{} }

type Pair struct {
	// Divergence is the first position that differs; nil if there is none.
	Divergence      *Divergence
	Prefill, Decode Part
}

// Divergence is where two answers diverge.
type Divergence struct {
	// At counts from the answer's first token, which is 0.
	At int
	// Reference and Got are the tokens there; nil if the answer had ended.
	Reference, Got *Alternative
	// Gap is how much higher the reference's log-probability of its own token is than of
	// the other's. Not given if a list lacks the other's token.
	Gap Value
	// Tie is set if that gap and the compared engine's are within the near-tie: rounding
	// decided. False if a gap is unknown.
	Tie bool
}

type Part struct {
	// Compared counts positions with sound lists in both, Ranked those of them with
	// alternatives in both, Argmax those with the same likeliest token in both.
	Compared, Ranked, Argmax int
	// Mean and P99 are of the Kullback-Leibler divergence of the compared engine from the
	// reference at a position, in nats: the least that lists of the likeliest tokens allow.
	// 0 if nothing was compared.
	Mean, P99 float64
	least     []float64
}

func (p *Part) add(o *Part) {
	p.Compared, p.Ranked, p.Argmax = p.Compared+o.Compared, p.Ranked+o.Ranked, p.Argmax+o.Argmax
	p.least = append(p.least, o.least...)
}

// summarize sets mean and 99th percentile (nearest rank).
func (p *Part) summarize() {
	slices.Sort(p.least)
	for _, v := range p.least {
		p.Mean += v
	}
	if n := len(p.least); n > 0 {
		p.Mean /= float64(n)
		p.P99 = p.least[(99*n+99)/100-1]
	}
	p.least = nil
}

// MissingError is where log-probabilities are missing or invalid.
type MissingError struct {
	// Engine is "reference" or "got".
	Engine string
	// Pair and Position count from 0; Prompt is set for a position of the prompt.
	Pair, Position int
	Prompt         bool
}

func (e *MissingError) Error() string {
	of := "answer"
	if e.Prompt {
		of = "prompt"
	}
	return fmt.Sprintf("no usable log-probabilities of token %d of %s %d of the %s engine",
		e.Position+1, of, e.Pair+1, e.Engine)
}

var engines = [2]string{"reference", "got"}

// Complete is an error if a position that followed the same tokens could not be compared,
// or there was none: numbers over the rest would leave out what is wrong.
func (c Comparison) Complete() error {
	if c.Missing != nil {
		return c.Missing
	}
	if c.Prefill.Compared+c.Decode.Compared == 0 {
		return &MissingError{Engine: engines[0]}
	}
	return nil
}

// Compare compares answers with those of a reference to the same requests; tokens whose
// log-probabilities are nearTie apart count as tied. The error is that the requests or
// what they asked for differ, or a *MissingError if there is a text without any token;
// positions without log-probabilities are not an error here (see Comparison.Complete),
// since tokens can be compared without them.
func Compare(reference, got []Answer, nearTie float64) (Comparison, error) {
	if len(reference) != len(got) {
		return Comparison{}, fmt.Errorf("%d answers, but %d in the reference: compare answers to the same prompts",
			len(got), len(reference))
	}
	c := comparer{nearTie: nearTie}
	for i := range got {
		if err := c.pair(i, &reference[i], &got[i]); err != nil {
			return Comparison{}, err
		}
	}
	c.Prefill.summarize()
	c.Decode.summarize()
	c.Reference.Perplexity, c.Got.Perplexity = perplexity(reference), perplexity(got)
	return c.Comparison, nil
}

// comparer is a comparison in progress. Its lists are reused at each position.
type comparer struct {
	Comparison
	nearTie float64
	lists   [2]list
}

func (c *comparer) pair(i int, reference, got *Answer) error {
	if reference.Asked != got.Asked {
		return fmt.Errorf("answer %d and its reference belong to different requests: record the reference again", i+1)
	}
	a, b := reference.Tokens, got.Tokens
	for side, answer := range [2]*Answer{reference, got} {
		if len(answer.Tokens) == 0 && answer.Text != "" { // without tokens, only text would trivially agree
			return &MissingError{Engine: engines[side], Pair: i}
		}
	}
	byID := func(t, other Token) bool { return t.ID >= 0 && t.Text == "" && other.ID < 0 }
	if len(a) > 0 && len(b) > 0 && (byID(a[0], b[0]) || byID(b[0], a[0])) {
		return fmt.Errorf("answer %d and its reference name tokens differently, one by IDs and one by text: "+
			"record the reference with the same kind of engine", i+1)
	}
	var p Pair
	if err := c.prompt(i, reference.Prompt, got.Prompt, &p.Prefill); err != nil {
		return err
	}
	shorter, common := min(len(a), len(b)), 0
	for common < shorter && same(a[common].ID, a[common].Text, b[common].ID, b[common].Text) {
		common++
	}
	if common == shorter && len(a) != len(b) {
		end := reference.End
		if len(b) < len(a) {
			end = got.End
		}
		if end == "length" {
			return fmt.Errorf("answer %d was cut off at a limit of %d tokens, but the other has %d: "+
				"request the same length from both", i+1, shorter, max(len(a), len(b)))
		}
	}
	for at := range max(len(a), len(b)) {
		if at > common || at >= shorter { // they followed different tokens, or one had ended: only for flaws
			if at < len(a) {
				c.lists[0].read(&a[at], &c.Reference.Flaws)
			}
			if at < len(b) {
				c.lists[1].read(&b[at], &c.Got.Flaws)
			}
			continue
		}
		part := &p.Decode
		if at == 0 {
			part = &p.Prefill
		}
		c.position(MissingError{Pair: i, Position: at}, &a[at], &b[at], part)
	}
	if common < max(len(a), len(b)) {
		p.Divergence = diverged(a, b, common, c.nearTie)
	}
	c.Prefill.add(&p.Prefill)
	c.Decode.add(&p.Decode)
	p.Prefill.summarize()
	p.Decode.summarize()
	c.Pairs = append(c.Pairs, p)
	return nil
}

// prompt compares the positions of a prompt. Its first token follows nothing, and only
// counts if both engines have a list for it.
func (c *comparer) prompt(i int, reference, got []Token, part *Part) error {
	for side, tokens := range [2][]Token{reference, got} {
		if len(tokens) == 0 {
			if len(reference)+len(got) > 0 {
				c.missing(MissingError{Engine: engines[side], Pair: i, Prompt: true})
			}
			return nil
		}
	}
	for at := range max(len(reference), len(got)) {
		if at >= len(reference) || at >= len(got) ||
			!same(reference[at].ID, reference[at].Text, got[at].ID, got[at].Text) {
			return fmt.Errorf("answer %d and its reference have different prompts, from token %d on: "+
				"record the reference again", i+1, at+1)
		}
		if at > 0 || !reference[0].bare() && !got[0].bare() {
			c.position(MissingError{Pair: i, Position: at, Prompt: true}, &reference[at], &got[at], part)
		}
	}
	return nil
}

// bare reports whether a position has no log-probability at all.
func (t *Token) bare() bool { return !t.LogProb.given && len(t.Top) == 0 }

// position compares the lists of one position that followed the same tokens.
func (c *comparer) position(where MissingError, reference, got *Token, part *Part) {
	p, q := &c.lists[0], &c.lists[1]
	sound, also := p.read(reference, &c.Reference.Flaws), q.read(got, &c.Got.Flaws)
	if !sound || !also {
		where.Engine = engines[0]
		if sound {
			where.Engine = engines[1]
		}
		c.missing(where)
		return
	}
	if !p.named || !q.named {
		p.merge()
		q.merge()
	}
	part.Compared++
	part.least = append(part.least, kl(p, q))
	if len(reference.Top) > 0 && len(got.Top) > 0 {
		part.Ranked++
		if likeliest(p, q) {
			part.Argmax++
		}
	}
}

func (c *comparer) missing(e MissingError) {
	if c.Missing == nil {
		c.Missing = &e
	}
}

// diverged describes the first position at which two answers differ.
func diverged(a, b []Token, at int, nearTie float64) *Divergence {
	d := &Divergence{At: at}
	if at < len(a) {
		d.Reference = &Alternative{Text: a[at].Text, ID: a[at].ID, LogProb: a[at].logProb()}
	}
	if at < len(b) {
		d.Got = &Alternative{Text: b[at].Text, ID: b[at].ID, LogProb: b[at].logProb()}
	}
	if d.Reference == nil || d.Got == nil {
		return d
	}
	difference := func(a, b Value) Value {
		x, ok := a.Finite()
		y, also := b.Finite()
		if !ok || !also {
			return Value{}
		}
		return Of(x - y)
	}
	d.Gap = difference(d.Reference.LogProb, a[at].of(*d.Got))
	gap, known := d.Gap.Finite()
	counter, both := difference(d.Got.LogProb, b[at].of(*d.Reference)).Finite()
	d.Tie = known && both && math.Abs(gap) <= nearTie && math.Abs(counter) <= nearTie
	return d
}

// logProb is the token's log-probability, from its list if not given separately.
func (t *Token) logProb() Value {
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
			v, finite := t.logProb().Finite()
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
