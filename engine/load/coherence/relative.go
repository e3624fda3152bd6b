package coherence

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
)

// Coherence is how a candidate's answers to the prompts of one cell compare with
// the parent's to the same ones. All numbers are of prompts.
type Coherence struct {
	Cell string
	// Of prompts both have answered; Unpaired only one of them.
	Of, Unpaired int
	// Garbage is the number of prompts whose answers are garbage of the candidate
	// and not of the parent: one makes its speed worthless. Doubtful are those
	// that differ to the candidate's disadvantage in a way that so few prompts
	// cannot show to be more than chance. Parent counts the parent's own answers
	// that look like garbage.
	Garbage, Doubtful, Parent int
	// Compared is the number of prompts whose answers were long enough to compare
	// their wording, Bits how much more surprising the candidate's wording is, in
	// bits a character.
	Compared int
	Bits     float64
	// Why is what was found, with examples: the first five.
	Why []Finding
}

const (
	// sureOf is how many prompts it takes for a sign test at 1 in 64.
	sureOf = 6
	// minShare is the share of prompts by which soft signs must be more frequent
	// to be called garbage: what a change of numerics does to how often a model
	// turns in circles is less.
	minShare = 0.25
)

// Relative compares the answers of a candidate with its parent's to the same
// prompts, cell by cell. It is for texts of forced length, whose second half may
// be anything: what a sound engine says after the end of its answer is the
// model's affair. So nothing is held against the candidate that the parent does
// as well, as often. There are three kinds of evidence:
//
//   - hard signs, each of which counts for itself, unless an answer of the
//     parent's to the same prompt has one too;
//   - soft signs (circles, empty texts), which count when they are more frequent
//     than the parent's by more than chance: a sign test over the prompts on
//     which the two differ, and by a quarter of all prompts; among three to five
//     prompts only if all of them differ that way;
//   - wording, which tells random words from other words: see wording.
//
// Answers of several launches to one prompt are one piece of evidence, since
// greedy decoding repeats itself.
func Relative(parent, candidate []measure.Sample) []Coherence {
	cells, order := map[string][2]answers{}, []string{}
	for side, samples := range [][]measure.Sample{parent, candidate} {
		measured(samples, func(s measure.Sample) {
			both, known := cells[s.Workload]
			if !known {
				both = [2]answers{{}, {}}
				cells[s.Workload] = both
				order = append(order, s.Workload)
			}
			key := Request{s.Index, s.Turn}
			both[side][key] = append(both[side][key], generatedText(s))
		})
	}
	found := make([]Coherence, len(order))
	for i, cell := range order {
		found[i] = compare(cell, cells[cell][0], cells[cell][1])
	}
	return found
}

// answers are the texts of each request of a cell, of one or more launches.
type answers map[Request][]string

// compare judges one cell.
func compare(cell string, parent, candidate answers) Coherence {
	c := Coherence{Cell: cell}
	var keys []Request
	for key := range parent {
		if len(candidate[key]) > 0 {
			keys = append(keys, key)
		}
	}
	c.Of = len(keys)
	c.Unpaired = len(parent) + len(candidate) - 2*c.Of
	slices.SortFunc(keys, func(a, b Request) int { return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Turn, b.Turn)) })
	var more, less int
	var example Finding
	var level []Request // whose wording may be compared
	for _, key := range keys {
		theirs, ours := count(parent[key], hard), count(candidate[key], hard)
		softTheirs, softOurs := count(parent[key], soft), count(candidate[key], soft)
		if theirs.n > 0 {
			c.Parent++
		}
		circles, circled := 2*softOurs.n > len(candidate[key]), 2*softTheirs.n > len(parent[key])
		switch {
		case ours.n > 0 && theirs.n == 0:
			c.Garbage++
			c.found(Finding{Code: Garbage, Request: key, Sign: ours.why, Excerpt: excerpt(ours.text)})
			continue
		case ours.n > 0 || theirs.n > 0:
			continue
		case circles && !circled:
			more++
			if example.Code == "" {
				example = Finding{Code: Circles, Request: key, Sign: softOurs.why, Excerpt: excerpt(softOurs.text)}
			}
			continue
		case circled && !circles:
			less++
		}
		level = append(level, key)
	}
	c.soft(more, less, example)
	c.wording(parent, candidate, level)
	return c
}

// soft decides whether soft signs that only one of both shows on a prompt are
// too many to be chance.
func (c *Coherence) soft(more, less int, example Finding) {
	surplus := more - less
	switch {
	case surplus <= 0:
		return
	case c.Of >= sureOf && float64(surplus) >= minShare*float64(c.Of) && signTest(more, more+less) <= 1.0/64,
		c.Of >= 3 && more == c.Of:
		c.Garbage += surplus
	case more == c.Of, signTest(more, more+less) <= 0.1:
		c.Doubtful += surplus
	default:
		return
	}
	example.Count, example.Of, example.Reverse = more, c.Of, less
	c.found(example)
}

// signTest is the chance that a fair coin shows heads at least k times in n.
func signTest(k, n int) float64 {
	p, term := 0.0, math.Pow(0.5, float64(n))
	for i := 0; i <= n; i++ {
		if i >= k {
			p += term
		}
		term *= float64(n-i) / float64(i+1)
	}
	return min(p, 1)
}

func (c *Coherence) found(f Finding) {
	if f.Cell = c.Cell; len(c.Why) < 5 {
		c.Why = append(c.Why, f)
	}
}

// signs are how many of several texts have a sign, and the first that does.
type signs struct {
	n    int
	why  Sign
	text string
}

func count(texts []string, sign func(string) Sign) signs {
	var found signs
	for _, text := range texts {
		if why := sign(text); why.Code != "" {
			if found.n == 0 {
				found.why, found.text = why, text
			}
			found.n++
		}
	}
	return found
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
// read the parent's answers to the other prompts, and some English. An answer in other words is as
// surprising as the parent's own, above or below it by chance; tokens drawn at
// random are more surprising, on every prompt. The spread of the differences is
// taken from them, or from what sound texts show where that is more, so that
// neither two lucky prompts nor one answer in another language decide.
//
// Sound text also surprises one who has only read garbage. So a difference that
// is not large only counts if the candidate's answers are more surprising to
// readers of each other, too, than the parent's are. Where the parent is the
// garbage after all, a large difference says so under the candidate's name: the
// comparison is as worthless.
//
// Of keys, the candidate has shown no sign of another kind that the parent has
// not.
func (c *Coherence) wording(parent, candidate answers, keys []Request) {
	keys = keys[:min(len(keys), mostPrompts)]
	theirs, ours := essences(parent, keys), essences(candidate, keys)
	own, across := theirs.surprises(theirs), theirs.surprises(ours)
	among := ours.surprises(ours)
	var differences []float64
	far, length, selfish := 0, 0.0, 0.0
	for i := range keys {
		d := across[i] - own[i]
		if math.IsNaN(d) {
			continue
		}
		differences = append(differences, d)
		length += float64(min(fewestRunes(theirs[i]), fewestRunes(ours[i])))
		if self := among[i] - own[i]; !math.IsNaN(self) {
			selfish += self
		}
		if d > oneExcess {
			far++
		}
	}
	c.Compared = len(differences)
	if c.Compared == 0 {
		return
	}
	n := float64(c.Compared)
	mean, above := 0.0, 0
	for _, d := range differences {
		mean += d / n
		if d > minExcess {
			above++
		}
	}
	variance := 0.0
	for _, d := range differences {
		variance += (d - mean) * (d - mean) / max(n-1, 1)
	}
	variance = max(variance, baseSpread*baseSpread*baseRunes/(length/n))
	c.Bits = mean
	sigmas := mean / math.Sqrt(variance/n)
	sure := mean >= minExcess && sigmas >= minSigmas
	switch {
	case sure && selfish <= 0 && mean < plainExcess:
		c.Doubtful += above
		c.found(Finding{Code: ParentRandom, Of: c.Compared, Bits: mean})
	case sure && c.Compared >= 3:
		c.Garbage += above
		c.found(Finding{Code: Random, Of: c.Compared, Bits: mean})
	case sure, mean >= minExcess && sigmas >= doubtSigmas && selfish > 0:
		c.Doubtful += above
		c.found(Finding{Code: Unlike, Count: above, Of: c.Compared})
	case far > 0:
		c.Doubtful += far
		c.found(Finding{Code: Unlike, Count: far, Of: c.Compared})
	}
}

// corpus are the different texts of each of some prompts.
type corpus [][][]rune

func essences(a answers, keys []Request) corpus {
	out := make(corpus, len(keys))
	for i, key := range keys {
		texts := slices.Clone(a[key])
		slices.Sort(texts)
		for _, text := range slices.Compact(texts) {
			out[i] = append(out[i], essence(text))
		}
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

// surprises is how surprising each prompt's texts of another corpus are to one
// who has read this one but for that prompt's, in bits a character; NaN where
// there is too little to read or to say.
func (c corpus) surprises(other corpus) []float64 {
	// A few short answers teach little of a language. What prompts are made of
	// helps with the commonest, and changes nothing between arms in any other.
	model, learned := newLikelihood(), 0
	for _, sentence := range prompt.Prose() {
		model.learn([]rune(sentence), 1)
	}
	learn := func(i, by int) {
		for _, text := range c[i] {
			model.learn(text, by)
			learned += by * len(text)
		}
	}
	for i := range c {
		learn(i, 1)
	}
	out := make([]float64, len(c))
	for i := range c {
		learn(i, -1)
		out[i] = math.NaN()
		if learned >= leastLearned && fewestRunes(c[i]) >= leastWords && fewestRunes(other[i]) >= leastWords {
			out[i] = model.mean(other[i])
		}
		learn(i, 1)
	}
	return out
}

// fewestRunes is the length of the shortest of at least one text.
func fewestRunes(texts [][]rune) int {
	least := math.MaxInt
	for _, text := range texts {
		least = min(least, len(text))
	}
	return least
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

// mean is how surprising texts are on average.
func (l *likelihood) mean(texts [][]rune) float64 {
	sum := 0.0
	for _, text := range texts {
		sum += l.bits(text)
	}
	return sum / float64(len(texts))
}
