package coherence

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/load/work"
	"github.com/mxflow/mxflow/engine/measure"
)

// Coherence is how a candidate's answers to prompts of one cell compare with the
// parent's to others of the same kind. All numbers are of answers.
type Coherence struct {
	Cell string
	// Of answers the candidate gave, Parents the parent.
	Of, Parents int
	// Garbage is the number of the candidate's answers that are garbage beyond what
	// the parent's are: one makes its speed worthless. Doubtful are those that are
	// worse in a way that so few cannot show to be more than chance.
	Garbage, Doubtful int
	// Compared is the number of answers that were long enough to compare their
	// wording.
	Compared int
	// Why is what was found, with examples: the first five.
	Why []Finding
}

const (
	// sure and doubted are chances at which a sign that is more frequent counts, and
	// is worth a word.
	sure, doubted = 1.0 / 64, 0.1
	// minShare is the share of answers by which soft signs must be more frequent to
	// be called garbage: what a change of numerics does to how often a model turns in
	// circles is less.
	minShare = 0.25
	// longRun is how many bytes of one character over and over are more than a number or
	// a line that is drawn.
	longRun = 48
)

// Relative compares the answers of a candidate with its parent's to other prompts of
// the same kind, cell by cell. It is for texts of forced length, whose second half may
// be anything: what a sound engine says after the end of its answer is the model's
// affair. So nothing is held against the candidate that the parent does as well, as
// often. There are three kinds of evidence:
//
//   - hard signs, each of which counts for itself where no answer of the parent's has
//     one, and otherwise, or where some answers repeat themselves from the beginning, when they
//     are more frequent by more than chance;
//   - soft signs (circles, empty texts), which count when they are more frequent than
//     the parent's by more than chance (Fisher's exact test) and by a quarter of all
//     answers;
//   - wording, which tells random words from other words: see wording.
func Relative(parent, candidate []measure.Sample) []Coherence {
	return byCell(parent, candidate, func(c *Coherence, parent, candidate []answer) {
		c.wording(c.signs(parent, candidate, soft))
	})
}

// Signs is Relative for engines or models that are compared as a whole, which are sent
// the same prompts in every launch. How they word things, and what they say after the end
// of an answer, is each one's own: some continue past it, some keep from ending. So wording
// and circles are left out, and the soft signs are those of Coherent.
func Signs(parent, candidate []measure.Sample) []Coherence {
	return byCell(parent, candidate, func(c *Coherence, parent, candidate []answer) {
		c.signs(parent, candidate, func(text string) Sign {
			_, why := Coherent(text)
			return why
		})
	})
}

// byCell judges the answers to each cell's prompts.
func byCell(parent, candidate []measure.Sample, judge func(c *Coherence, parent, candidate []answer)) []Coherence {
	cells, order := map[string][2][]answer{}, []string{}
	for side, samples := range [][]measure.Sample{parent, candidate} {
		seen := map[string]bool{}
		for s := range measure.Answered(samples) {
			// Where a prompt is sent again, as those of a file are in every launch, the
			// same answer is no further evidence: greedy decoding repeats itself.
			prompt := cmp.Or(s.PromptSum, fmt.Sprint(s.Index))
			key := fmt.Sprintf("%q %q %d %s", s.Workload, prompt, s.Turn, generatedText(s))
			if seen[key] {
				continue
			}
			seen[key] = true
			both, known := cells[s.Workload]
			if !known {
				order = append(order, s.Workload)
			}
			both[side] = append(both[side], answer{Request{s.Index, s.Turn}, generatedText(s)})
			cells[s.Workload] = both
		}
	}
	found := make([]Coherence, len(order))
	for i, cell := range order {
		c := Coherence{Cell: cell, Of: len(cells[cell][1]), Parents: len(cells[cell][0])}
		if c.Of > 0 && c.Parents > 0 {
			judge(&c, cells[cell][0], cells[cell][1])
		}
		found[i] = c
	}
	return found
}

// answer is one text.
type answer struct {
	to   Request
	text string
}

// signs judges hard signs and soft ones. What is left is worth reading: the parent's
// answers without a hard sign, and the candidate's without any.
func (c *Coherence) signs(parent, candidate []answer, soft func(string) Sign) (theirSound, level []answer) {
	bad, sound := split(candidate, hard)
	theirBad, theirSound := split(parent, hard)
	chance := work.Fisher(len(bad), c.Of, len(theirBad), c.Parents)
	// A small model that is forced on says one word or character over and over now and
	// then: of many answers, one is not a sign of broken numerics, and no more are where they
	// are short. Numbers that are none come out as one token, for long and not once.
	stuck := 0
	for _, f := range bad {
		if f.why.Code == Repeated && len(f.text) >= longRun {
			stuck++
		}
	}
	for _, f := range bad {
		repeats := f.why.Code == OneWord || f.why.Code == Repeated
		switch {
		case len(theirBad) == 0 && (!repeats || stuck > 1 || len(bad) == c.Of), chance <= sure:
			c.Garbage++
			c.found(f.is(Garbage))
		case chance <= doubted:
			c.Doubtful++
			c.found(f.is(Garbage))
		}
	}
	circling, level := split(sound, soft)
	theirs, _ := split(theirSound, soft)
	c.soft(circling, len(theirs), len(sound), len(theirSound))
	return theirSound, level
}

// soft decides whether soft signs are too frequent to be chance.
func (c *Coherence) soft(circling []signed, theirs, of, ofTheirs int) {
	if len(circling) == 0 || ofTheirs == 0 {
		return
	}
	chance := work.Fisher(len(circling), of, theirs, ofTheirs)
	surplus := float64(len(circling))/float64(of) - float64(theirs)/float64(ofTheirs)
	n := int(math.Ceil(surplus * float64(of)))
	switch {
	case surplus >= minShare && chance <= sure, of >= 3 && surplus == 1:
		c.Garbage += n
	case surplus > 0 && (chance <= doubted || len(circling) == of):
		c.Doubtful += n
	default:
		return
	}
	f := circling[0].is(Circles)
	f.Count, f.Of, f.Reverse = len(circling), of, theirs
	c.found(f)
}

func (c *Coherence) found(f Finding) {
	if f.Cell = c.Cell; len(c.Why) < 5 {
		c.Why = append(c.Why, f)
	}
}

// signed is an answer with the sign it shows.
type signed struct {
	answer
	why Sign
}

func (s signed) is(c Code) Finding {
	return Finding{Code: c, Request: s.to, Sign: s.why, Excerpt: excerpt(s.text)}
}

// split are the answers that show a sign, and those that do not.
func split(all []answer, sign func(string) Sign) (with []signed, without []answer) {
	for _, a := range all {
		if why := sign(a.text); why.Code != "" {
			with = append(with, signed{a, why})
		} else {
			without = append(without, a)
		}
	}
	return with, without
}

const (
	// leastWords is how many characters a text must have for its wording to be
	// compared, and leastLearned how many there must be to learn from.
	leastWords, leastLearned = 40, 160
	// mostWords and mostPrompts bound the work.
	mostWords, mostPrompts = 2000, 100
	// minExcess is by how many bits a character the candidate's wording must be
	// more surprising, and minSigmas by how many standard errors: other sound
	// answers differ by nothing on average, texts of random words by 0.5, of random
	// tokens by 1 to 3.
	minExcess, minSigmas = 0.3, 3.5
	// doubtSigmas is what is worth a word.
	doubtSigmas = 2
	// Two sound texts of baseRunes characters differ by about baseSpread bits a
	// character, and by less the longer they are, as the root of the length.
	baseSpread, baseRunes = 0.65, 120
	// plainExcess is more than a parent of words at random and a sound candidate
	// differ by, and oneExcess is remarkable in a single answer.
	plainExcess, oneExcess = 1, 2.5
)

// wording compares how surprising the answers of both arms are to one who has
// read the parent's answers, but for the one that is read, and some English. An answer
// in other words is as surprising as the parent's own, above or below it by chance;
// tokens drawn at random are more surprising, every one. The spread is taken from the
// answers, or from what sound texts show where that is more, so that neither two lucky
// answers nor one in another language decide.
//
// Sound text also surprises one who has only read garbage. So a difference that
// is not large only counts if the candidate's answers are more surprising to
// readers of each other, too, than the parent's are. Where the parent is the
// garbage after all, a large difference says so under the candidate's name: the
// comparison is as worthless.
//
// The answers have shown no sign of another kind.
func (c *Coherence) wording(parent, candidate []answer) {
	theirs, ours := essences(parent), essences(candidate)
	own, across, among := spreadOf(theirs.surprises(theirs)), spreadOf(theirs.surprises(ours)), spreadOf(ours.surprises(ours))
	c.Compared = across.n
	if own.n == 0 || across.n == 0 {
		return
	}
	mean := across.mean - own.mean
	above, far := 0, 0
	for _, bits := range across.values {
		if bits-own.mean > minExcess {
			above++
		}
		if bits-own.mean > oneExcess {
			far++
		}
	}
	sigmas := mean / math.Sqrt(own.error(theirs)+across.error(ours))
	selfish := among.mean - own.mean
	surely := mean >= minExcess && sigmas >= minSigmas
	switch {
	case surely && selfish <= 0 && mean < plainExcess:
		c.Doubtful += above
		c.found(Finding{Code: ParentRandom, Of: c.Compared, Bits: mean})
	case surely && c.Compared >= 3:
		c.Garbage += above
		c.found(Finding{Code: Random, Of: c.Compared, Bits: mean})
	case surely, mean >= minExcess && sigmas >= doubtSigmas && selfish > 0:
		c.Doubtful += above
		c.found(Finding{Code: Unlike, Count: above, Of: c.Compared})
	case far > 0:
		c.Doubtful += far
		c.found(Finding{Code: Unlike, Count: far, Of: c.Compared})
	}
}

// spread is of the surprises that are known.
type spread struct {
	values         []float64
	n              int
	mean, variance float64
}

func spreadOf(bits []float64) (s spread) {
	for _, b := range bits {
		if !math.IsNaN(b) {
			s.values = append(s.values, b)
		}
	}
	s.n = len(s.values)
	for _, b := range s.values {
		s.mean += b / float64(s.n)
	}
	for _, b := range s.values {
		s.variance += (b - s.mean) * (b - s.mean) / float64(max(s.n-1, 1))
	}
	return s
}

// error is the variance of the mean, no less than that of sound texts so long.
func (s spread) error(texts corpus) float64 {
	length := 0.0
	for _, t := range texts {
		length += float64(len(t)) / float64(len(texts))
	}
	return max(s.variance, baseSpread*baseSpread*baseRunes/max(length, 1)/2) / float64(s.n)
}

// corpus are texts without what they repeat.
type corpus [][]rune

func essences(all []answer) corpus {
	out := make(corpus, min(len(all), mostPrompts))
	for i := range out {
		out[i] = essence(all[i].text)
	}
	return out
}

// essence is a text without what it says again: every character is left out at
// which the text is as it was before for several characters. What is left is no
// longer a matter of how often an answer turned in a circle.
func essence(text string) []rune {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	runes = runes[:min(len(runes), mostWords)]
	seen := map[[windows]rune]bool{}
	var out []rune
	for i, r := range runes {
		if i+1 >= windows {
			piece := [windows]rune(runes[i+1-windows : i+1])
			if seen[piece] {
				continue
			}
			seen[piece] = true
		}
		out = append(out, r)
	}
	return out
}

// surprises is how surprising each text of another corpus is to one who has read this
// one, but for the text itself where it is the same, in bits a character; NaN where
// there is too little to read or to say.
func (c corpus) surprises(other corpus) []float64 {
	// A few short answers teach little of a language. What prompts are made of
	// helps with the commonest, and changes nothing between arms in any other.
	model, learned := newLikelihood(), 0
	for _, sentence := range prompt.Prose() {
		model.learn([]rune(sentence), 1)
	}
	learn := func(i, by int) {
		model.learn(c[i], by)
		learned += by * len(c[i])
	}
	for i := range c {
		learn(i, 1)
	}
	out := make([]float64, len(other))
	for i, text := range other {
		// One of as many is left out of what is read of another's texts, too: who has
		// read more is surprised less.
		left := i % max(len(c), 1)
		if len(c) > 0 {
			learn(left, -1)
		}
		out[i] = math.NaN()
		if learned >= leastLearned && len(text) >= leastWords {
			out[i] = model.bits(text)
		}
		if len(c) > 0 {
			learn(left, 1)
		}
	}
	return out
}

// rarest is the smallest probability of a character: one of as many.
const rarest = 1.0 / 4096

// likelihood predicts each character of a text from the two before it, by how
// often they followed each other in texts that it has learned, in the way of
// Witten and Bell (IEEE Transactions on Information Theory 37, 1991): the more
// different characters a context was followed by, the more weight goes to the
// shorter context.
type likelihood struct {
	// counts has how often a character followed a context, which is up to two
	// characters; totals how often a context was seen, kinds by how many different
	// characters it was followed.
	counts        map[gram]int
	totals, kinds map[gram]int
}

// gram is up to two characters of context and, in counts, the one after them,
// in 21 bits each, which is what Unicode needs; 0 stands for none.
type gram uint64

func newLikelihood() *likelihood {
	return &likelihood{counts: map[gram]int{}, totals: map[gram]int{}, kinds: map[gram]int{}}
}

// learn takes in a text, or with by = −1 forgets it again.
func (l *likelihood) learn(text []rune, by int) {
	for i := range text {
		for n := 0; n <= 2 && n <= i; n++ {
			context, with := gramOf(text[i-n:i]), gramOf(text[i-n:i+1])
			before := l.counts[with]
			l.counts[with] += by
			l.totals[context] += by
			switch {
			case by > 0 && before == 0:
				l.kinds[context]++
			case by < 0 && before == 1:
				l.kinds[context]--
			}
		}
	}
}

// gramOf is the gram of up to three characters.
func gramOf(text []rune) (g gram) {
	for _, r := range text {
		g = g<<21 | gram(r+1)
	}
	return g
}

// bits is how surprising a text is, in bits a character.
func (l *likelihood) bits(text []rune) float64 {
	sum := 0.0
	for i := range text {
		p := rarest
		for n := 0; n <= 2 && n <= i; n++ {
			context := gramOf(text[i-n : i])
			if total := l.totals[context]; total > 0 {
				kinds := float64(l.kinds[context])
				p = (float64(l.counts[gramOf(text[i-n:i+1])]) + kinds*p) / (float64(total) + kinds)
			}
		}
		sum -= math.Log2(p)
	}
	return sum / float64(len(text))
}
