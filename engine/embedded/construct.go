package embedded

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// How a text gets into weights that nobody trained.
//
//  1. The embedding writes the code of the token (code.go) into the token slot.
//  2. In layer 0, two query heads are "previous token heads": their query bias
//     is their key bias turned back by one and by two positions, so that
//     through RoPE the score peaks at exactly that distance. Their values are
//     the token slot, their output the slots for earlier tokens. Where there
//     is no such position, the sink takes the attention.
//  3. The router sends a token to its home expert (and others by chance).
//     Neurons of the home expert, spread over all layers, are memory cells
//     (memory.go): the gate row is the code of a context, its bias the
//     threshold, so the gate opens, up to the SwiGLU clamp, exactly when the
//     context matches. The down projection writes the code of the next token.
//  4. The lm_head compares the next slot with each token's code.
//
// All other weights are random and small: they stir the scratch dimensions,
// which the experts and the lm_head read, so that every kernel moves the logits
// a little and a broken one moves them a lot.
//
// So this is a lookup in a transformer's clothes: what it says was put there,
// and nothing it says is evidence about trained models. The arithmetic on the
// way is the real one.

const (
	constantValue   = 40   // in the residual stream
	hintValue       = 4    // in the residual stream
	routerGain      = 5    // logit of the home expert
	gateGain        = 32   // slope of a memory cell; large enough to reach the clamp
	gateSlack       = 0.4  // a cell opens when the match exceeds (context length - slack)
	cellStrength    = 0.25 // of a cell's write; times the clamp of 7 it is the next slot's amplitude
	headPeak        = 24   // score of a previous-token head at its distance, a frequency
	headFrequencies = 4    // rotary frequencies that such heads use, the highest ones
	sinkBelowPeak   = 7    // how far below the peak the sink of such a head lies
	nextLogit       = 16   // logit of the remembered successor
	starterLogit    = 4    // of tokens that may begin a paragraph, whatever came before
	fallbackLogit   = -4   // of bytes and syllables that the text never uses alone
)

type builder struct {
	shape   shape
	random  *rand.Rand
	w       *weights
	codes   [][codeDims]float32   // by token, as in the token slot
	slots   [contextSlots]shuffle // from the token slot to slot i
	next    shuffle               // from the token slot to the next slot
	gain    float32               // norm gain that makes codes ±1 after RMSNorm
	calm    float64               // scale of random writes, so that deep models stay as steady as shallow ones
	homes   []int
	starter []token
	inText  map[token]bool
}

// shuffle is a signed permutation of code elements.
type shuffle struct {
	from [codeDims]int
	sign [codeDims]float32
}

func (s shuffle) apply(code [codeDims]float32) (out [codeDims]float32) {
	for i := range out {
		out[i] = s.sign[i] * code[s.from[i]]
	}
	return out
}

// construct builds the weights for the shipped text. The same seed gives the
// same weights, but for the last bits in which platforms' arithmetic differs.
func construct(s shape, tk *tokenizer, seed uint64) (*weights, error) {
	if tk.size() > maxCodes || s.experts > hintCount || s.hidden != 5*codeDims || s.headDim != codeDims {
		return nil, fmt.Errorf("shape %+v with %d tokens does not fit the residual stream's layout", s, tk.size())
	}
	b := &builder{shape: s, random: rand.New(rand.NewPCG(seed, 0x6d78666c6f77)), w: &weights{}}
	prose, talks := readCorpus(corpusText)
	streams := corpusTokens(tk, prose, talks)
	cells := planMemory(streams)
	b.inText = map[token]bool{}
	for _, stream := range streams {
		for _, t := range stream {
			b.inText[t] = true
		}
	}
	b.homes = placeExperts(cells, s.vocabulary, s.experts)
	for _, doc := range prose {
		b.starter = append(b.starter, tk.encode(paragraphBreak + doc.answer)[0])
	}
	b.calm = math.Sqrt(4 / float64(max(4, s.layers)))
	b.drawCodes()
	b.buildEmbedding()
	for layer := range s.layers {
		b.w.layers = append(b.w.layers, b.buildAttention(layer))
	}
	b.buildExperts(cells)
	b.buildHead()
	return b.w, nil
}

func (b *builder) drawShuffle() (s shuffle) {
	copy(s.from[:], b.random.Perm(codeDims))
	for i := range s.sign {
		s.sign[i] = float32(1 - 2*b.random.IntN(2))
	}
	return s
}

func (b *builder) drawCodes() {
	for i := range b.slots {
		b.slots[i] = b.drawShuffle()
	}
	b.next = b.drawShuffle()
	for _, index := range b.random.Perm(maxCodes)[:b.shape.vocabulary] {
		b.codes = append(b.codes, b.slots[0].apply(signCode(index+1)))
	}
	// The typical root mean square of a residual vector: the constant and
	// three filled slots. The rest is small beside the constant.
	energy := float64(constantValue*constantValue + hintValue*hintValue + 3*codeDims)
	b.gain = float32(math.Sqrt(energy / float64(b.shape.hidden)))
}

// slotCode is the code of t as it appears in context slot i: 0 is the current
// token. Slot 0 holds the code itself.
func (b *builder) slotCode(slot int, t token) [codeDims]float32 {
	if slot == 0 {
		return b.codes[t]
	}
	return b.slots[slot].apply(b.codes[t])
}

func (b *builder) nextCode(t token) [codeDims]float32 { return b.next.apply(b.codes[t]) }

func (b *builder) normal(deviation float64) float32 {
	return float32(b.random.NormFloat64() * deviation)
}

func (b *builder) fill(values []float32, deviation float64) {
	for i := range values {
		values[i] = b.normal(deviation)
	}
}

// normWeights scales codes to ±1 and the constant to 1.
func (b *builder) normWeights() []float32 {
	w := make([]float32, b.shape.hidden)
	for i := range w {
		w[i] = b.gain
	}
	w[constantDim] = b.gain / constantValue
	for e := range hintCount {
		w[hintDims+e] = b.gain / hintValue
	}
	return w
}

func (b *builder) buildEmbedding() {
	b.w.embedding = newMatrix(b.shape.vocabulary, b.shape.hidden)
	for t := range b.shape.vocabulary {
		row := b.w.embedding.row(t)
		code := b.slotCode(0, token(t))
		copy(row[tokenSlot:], code[:])
		row[constantDim] = constantValue
		row[hintDims+b.homes[t]] = hintValue
		b.fill(row[scratchDims:scratchDims+scratchCount], 0.5)
	}
}

func (b *builder) buildHead() {
	b.w.finalNorm = b.normWeights()
	b.w.lmHead = newMatrix(b.shape.vocabulary, b.shape.hidden)
	amplitude := float64(cellStrength * swigluLimit)
	for t := range b.shape.vocabulary {
		row := b.w.lmHead.row(t)
		for i, c := range b.nextCode(token(t)) {
			row[nextSlot+i] = c * float32(nextLogit/(codeDims*amplitude))
		}
		b.fill(row[scratchDims:scratchDims+scratchCount], 0.1)
		if !b.inText[token(t)] {
			row[constantDim] = fallbackLogit
		}
	}
	// Nothing remembered: begin a paragraph, which one depends on the token.
	for _, t := range b.starter {
		row := b.w.lmHead.row(int(t))
		row[constantDim] = starterLogit
		b.fill(row[tokenSlot:tokenSlot+codeDims], 0.1)
	}
}
