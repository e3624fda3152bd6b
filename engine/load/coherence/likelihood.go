package coherence

import "math"

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
