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
	// Garbage is the number of the candidate's answers that are garbage beyond the
	// parent's: one makes its speed worthless. Doubtful are those that are worse in a way
	// that so few cannot show to be more than chance.
	Garbage, Doubtful int
	// Compared is the number of answers long enough to compare their wording.
	Compared int
	// Why are the findings, with examples: the first five.
	Why []Finding
}

const (
	// sure is the chance below which a more frequent sign counts, doubted that below
	// which it is noted.
	sure, doubted = 1.0 / 64, 0.1
	// minShare is the share of answers by which soft signs must be more frequent to be
	// called garbage: a change of numerics affects how often a model loops by less.
	minShare = 0.25
	// longRun is how many bytes of one repeated character are more than a number or a
	// drawn line.
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

// Signs is Relative for engines or models compared as a whole, which are sent the same
// prompts in every launch. Their wording, and what they say after the end of an answer,
// are their own: some continue past it, some avoid ending. So wording and circles are
// left out, and the soft signs are those of Coherent.
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
			// If a prompt is repeated, as those of a file are in every launch, the same
			// answer is no further evidence: greedy decoding repeats itself.
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

// signs judges hard signs and soft ones. It returns what is left to compare: the parent's
// answers without a hard sign, and the candidate's without any.
func (c *Coherence) signs(parent, candidate []answer, soft func(string) Sign) (theirSound, level []answer) {
	bad, sound := split(candidate, hard)
	theirBad, theirSound := split(parent, hard)
	chance := work.Fisher(len(bad), c.Of, len(theirBad), c.Parents)
	// A small model that is forced on occasionally repeats one word or character: among
	// many answers, one is not a sign of broken numerics, nor are more if they are short.
	// NaNs come out as one token, for long and repeatedly.
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

// split separates the answers that show a sign from those that do not.
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
	// leastWords is how many characters a text needs for its wording to be compared, and
	// leastLearned how many are needed to learn from.
	leastWords, leastLearned = 40, 160
	// mostWords and mostPrompts limit the work.
	mostWords, mostPrompts = 2000, 100
	// minExcess is by how many bits per character the candidate's wording must be more
	// surprising, and minSigmas by how many standard errors: other sound answers differ
	// by nothing on average, texts of random words by 0.5, of random tokens by 1 to 3.
	minExcess, minSigmas = 0.3, 3.5
	// doubtSigmas is the threshold for a note.
	doubtSigmas = 2
	// Two sound texts of baseRunes characters differ by about baseSpread bits per
	// character, and by less the longer they are, with the root of the length.
	baseSpread, baseRunes = 0.65, 120
	// plainExcess is more than a parent of random words and a sound candidate differ by,
	// and oneExcess is remarkable in a single answer.
	plainExcess, oneExcess = 1, 2.5
)

// wording compares how surprising the answers of both arms are to a reader of the
// parent's answers, except the one being read, and some English. An answer in other words
// is as surprising as the parent's own, above or below it by chance; random tokens are
// more surprising, every one. The spread is taken from the answers, or from that of sound
// texts if larger, so neither two lucky answers nor one in another language decide.
//
// Sound text also surprises a reader who has only read garbage. So a small difference
// only counts if the candidate's answers are also more surprising to readers of each
// other than the parent's are. If the parent is the garbage after all, a large difference
// is reported under the candidate's name: the comparison is equally worthless.
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

// error is the variance of the mean, no less than that of sound texts of this length.
func (s spread) error(texts corpus) float64 {
	length := 0.0
	for _, t := range texts {
		length += float64(len(t)) / float64(len(texts))
	}
	return max(s.variance, baseSpread*baseSpread*baseRunes/max(length, 1)/2) / float64(s.n)
}

// corpus are texts without their repetitions.
type corpus [][]rune

func essences(all []answer) corpus {
	out := make(corpus, min(len(all), mostPrompts))
	for i := range out {
		out[i] = essence(all[i].text)
	}
	return out
}

// essence is a text without its repetitions: every character is left out at which the
// text equals an earlier stretch for several characters. The rest no longer depends on
// how often an answer looped.
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

// surprises is how surprising each text of another corpus is to a reader of this one,
// except the text itself if it is the same, in bits per character; NaN if there is too
// little text.
func (c corpus) surprises(other corpus) []float64 {
	// A few short answers teach little of a language. The texts that prompts are made of
	// help with the commonest, and change nothing between arms in any other.
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
		// As many are left out when reading another's texts, too: a reader of more is
		// surprised less.
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

// rarest is the smallest probability of a character.
const rarest = 1.0 / 4096

// likelihood predicts each character of a text from the two before it, by how often they
// followed each other in learned texts, by the method of Witten and Bell (IEEE
// Transactions on Information Theory 37, 1991): the more different characters followed a
// context, the more weight the shorter context gets.
type likelihood struct {
	// counts is how often a character followed a context of up to two characters; totals
	// how often a context was seen, kinds by how many different characters it was
	// followed.
	counts        map[gram]int
	totals, kinds map[gram]int
}

// gram is up to two characters of context and, in counts, the one after them, in 21 bits
// each, which Unicode needs; 0 stands for none.
type gram uint64

func newLikelihood() *likelihood {
	return &likelihood{counts: map[gram]int{}, totals: map[gram]int{}, kinds: map[gram]int{}}
}

// learn adds a text, or with by = −1 removes it again.
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

// bits is how surprising a text is, in bits per character.
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
