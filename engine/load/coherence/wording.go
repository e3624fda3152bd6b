package coherence

import (
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/load/prompt"
)

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
