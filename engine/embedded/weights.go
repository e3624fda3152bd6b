package embedded

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// shape is the model's dimensions, named as in a Hugging Face config. Dimensions are
// multiples of 32 so MXFP4 blocks fall on whole rows.
type shape struct {
	layers        int
	hidden        int     // residual stream
	heads         int     // query heads
	kvHeads       int     // key and value heads; heads/kvHeads queries share one
	headDim       int     // elements a head
	window        int     // sliding window of even layers, in tokens; odd layers see all
	experts       int     // experts a layer
	expertsPerTok int     // experts that the router picks for a token
	intermediate  int     // neurons an expert
	vocabulary    int     // tokens
	maxPositions  int     // longest sequence, in tokens
	ropeTheta     float64 // base of the rotary frequencies
	normEpsilon   float32
}

// defaultShape is sized for a laptop: a launch with a short benchmark takes a few seconds
// even with every optimisation switched off.
func defaultShape(layers, vocabulary, maxPositions int) shape {
	return shape{
		layers: layers, hidden: 160, heads: 4, kvHeads: 2, headDim: 32, window: 64,
		experts: 8, expertsPerTok: 2, intermediate: 64,
		vocabulary: vocabulary, maxPositions: maxPositions,
		ropeTheta: 150000, normEpsilon: 1e-5, // both as gpt-oss
	}
}

// The residual stream is five blocks of 32 elements. The first four hold
// codes, the last the constant, the router's hints and scratch.
const (
	tokenSlot    = 0 * codeDims // code of the current token
	previousSlot = 1 * codeDims // code of the token before it; the slot after it is one older
	nextSlot     = 3 * codeDims // code of the predicted token, written by the experts
	constantDim  = 4 * codeDims // always the same, large: keeps RMSNorm nearly linear
	hintDims     = constantDim + 1
	hintCount    = 15 // one a home expert, so at most 15 experts
	scratchDims  = hintDims + hintCount
	scratchCount = 5*codeDims - scratchDims
)

func (s shape) queryDims() int { return s.heads * s.headDim }
func (s shape) kvDims() int    { return s.kvHeads * s.headDim }

// weights are all parameters of a model. Biases follow gpt-oss: on every
// attention projection, the router and both expert projections.
type weights struct {
	embedding matrix // vocabulary × hidden
	layers    []layerWeights
	finalNorm []float32
	lmHead    matrix // vocabulary × hidden
}

type layerWeights struct {
	attentionNorm, moeNorm            []float32
	query, key, value, output, router linear
	sinks                             []float32 // one logit a query head
	experts                           []expertWeights
}

// expertWeights is one expert. Gate and up rows alternate, as in gpt-oss.
type expertWeights struct {
	gateUp mxLinear // 2*intermediate × hidden
	down   mxLinear // hidden × intermediate
}

// bytes is the memory of all matrices; norms and sinks are negligible.
func (w *weights) bytes() int {
	total := 4 * (len(w.embedding.data) + len(w.lmHead.data))
	for _, l := range w.layers {
		for _, m := range []linear{l.query, l.key, l.value, l.output, l.router} {
			total += 4 * len(m.data)
		}
		for _, e := range l.experts {
			for _, m := range []mxLinear{e.gateUp, e.down} {
				total += len(m.codes) + len(m.scales) + 4*len(m.bias)
			}
		}
	}
	return total
}

// How a text gets into weights that nobody trained.
//
//  1. The embedding writes the code of the token (signCode) into the token slot.
//  2. In layer 0, two query heads are "previous token heads": their query bias
//     is their key bias turned back by one and by two positions, so
//     through RoPE the score peaks at exactly that distance. Their values are
//     the token slot, their output the slots for earlier tokens. Where there
//     is no such position, the sink takes the attention.
//  3. The router sends a token to its home expert (and others by chance).
//     Neurons of the home expert, spread over all layers, are memory cells
//     (planMemory): the gate row is the code of a context, its bias the
//     threshold, so the gate opens, up to the SwiGLU clamp, exactly when the
//     context matches. The down projection writes the code of the next token.
//  4. The lm_head compares the next slot with each token's code.
//
// All other weights are random and small: they stir the scratch dimensions,
// which the experts and the lm_head read, so every kernel moves the logits
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
	calm    float64               // scale of random writes, so deep models stay as steady as shallow ones
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
	// The typical root mean square of a residual vector: the constant and three filled
	// slots. The rest is small in comparison.
	energy := float64(constantValue*constantValue + hintValue*hintValue + 3*codeDims)
	b.gain = float32(math.Sqrt(energy / float64(b.shape.hidden)))
}

// slotCode is the code of t as it appears in context slot i: 0, which holds the code
// itself, is the current token.
func (b *builder) slotCode(slot int, t token) [codeDims]float32 {
	if slot == 0 {
		return b.codes[t]
	}
	return b.slots[slot].apply(b.codes[t])
}

func (b *builder) nextCode(t token) [codeDims]float32 { return b.next.apply(b.codes[t]) }

func (b *builder) fill(values []float32, deviation float64) {
	for i := range values {
		values[i] = float32(b.random.NormFloat64() * deviation)
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
	// Nothing remembered: start a paragraph, which one depends on the token.
	for _, t := range b.starter {
		row := b.w.lmHead.row(int(t))
		row[constantDim] = starterLogit
		b.fill(row[tokenSlot:tokenSlot+codeDims], 0.1)
	}
}

// buildAttention draws a layer's attention: random heads that write to the
// scratch dimensions and, in layer 0, the previous-token heads.
func (b *builder) buildAttention(layer int) layerWeights {
	s := b.shape
	l := layerWeights{
		attentionNorm: b.normWeights(), moeNorm: b.normWeights(),
		query:   newLinear(s.queryDims(), s.hidden),
		key:     newLinear(s.kvDims(), s.hidden),
		value:   newLinear(s.kvDims(), s.hidden),
		output:  newLinear(s.hidden, s.queryDims()),
		sinks:   make([]float32, s.heads),
		router:  newLinear(s.experts, s.hidden),
		experts: make([]expertWeights, s.experts),
	}
	b.fill(l.query.data, 0.1)
	b.fill(l.key.data, 0.1)
	b.fill(l.value.data, 0.1)
	b.fill(l.sinks, 1)
	for d := range s.hidden {
		if d >= scratchDims {
			b.fill(l.output.row(d), 0.05*b.calm)
		} else if d >= nextSlot && d < constantDim {
			b.fill(l.output.row(d), 0.005*b.calm) // straight into the logits, but faint
		}
	}
	b.fill(l.router.data, 0.05)
	for e := range s.experts {
		l.router.row(e)[constantDim] = 0
		l.router.row(e)[hintDims+e] = routerGain
	}
	if layer == 0 {
		b.buildPreviousTokenHeads(&l)
	}
	return l
}

// buildPreviousTokenHeads turns query heads 0 and 1, which share key head 0,
// into copies of the tokens one and two back.
func (b *builder) buildPreviousTokenHeads(l *layerWeights) {
	s := b.shape
	half := s.headDim / 2
	radius := float32(math.Sqrt(headPeak * math.Sqrt(float64(s.headDim))))
	clear(l.key.data[:s.headDim*s.hidden])
	clear(l.value.data[:s.headDim*s.hidden])
	for i := range headFrequencies {
		l.key.bias[i] = radius
	}
	for i := range codeDims {
		l.value.row(i)[tokenSlot+i] = 1
	}
	for back := 1; back < contextSlots; back++ {
		head := back - 1
		first := head * s.headDim
		clear(l.query.data[first*s.hidden : (first+s.headDim)*s.hidden])
		for i := range headFrequencies {
			angle := -float64(back) * ropeFrequency(s, i)
			l.query.bias[first+i] = radius * float32(math.Cos(angle))
			l.query.bias[first+half+i] = radius * float32(math.Sin(angle))
		}
		l.sinks[head] = headPeak*headFrequencies - sinkBelowPeak
		slot := previousSlot + (back-1)*codeDims
		for d := range s.hidden { // these heads write their slot and nothing else
			clear(l.output.row(d)[first : first+s.headDim])
		}
		for i := range codeDims {
			l.output.row(slot + i)[first+b.slots[back].from[i]] = b.slots[back].sign[i]
		}
	}
}

// buildExperts draws all experts and writes the memory cells into them. Cells that no
// longer fit are left out: a model with fewer layers knows less.
func (b *builder) buildExperts(cells []cell) {
	s := b.shape
	byHome := make([][]cell, s.experts)
	for _, c := range cells {
		home := b.homes[c.last()]
		byHome[home] = append(byHome[home], c)
	}
	for layer := range s.layers {
		for e := range s.experts {
			var mine []cell
			for i := layer; i < len(byHome[e]) && len(mine) < s.intermediate; i += s.layers {
				mine = append(mine, byHome[e][i])
			}
			b.w.layers[layer].experts[e] = b.buildExpert(mine)
		}
	}
}

// buildExpert makes one expert of memory cells and, in the remaining neurons,
// random ones. Codes are ±1 times a power of two in blocks of their own, so
// MXFP4 holds them exactly.
func (b *builder) buildExpert(cells []cell) expertWeights {
	s := b.shape
	gateUp, down := newLinear(2*s.intermediate, s.hidden), newLinear(s.hidden, s.intermediate)
	for d := scratchDims; d < s.hidden; d++ {
		b.fill(down.row(d), 0.02*b.calm)
	}
	for n := range s.intermediate {
		gate, up := gateUp.row(2*n), gateUp.row(2*n+1)
		b.fill(up[tokenSlot:nextSlot], 0.005)
		b.fill(up[scratchDims:], 0.02)
		if n >= len(cells) {
			b.fill(gate[tokenSlot:nextSlot], 0.1)
			b.fill(gate[scratchDims:], 0.2)
			continue
		}
		c := cells[n]
		length := len(c.context)
		for slot := range length {
			code := b.slotCode(slot, c.context[length-1-slot])
			for i, sign := range code {
				gate[tokenSlot+slot*codeDims+i] = sign * gateGain / codeDims
			}
		}
		gateUp.bias[2*n] = -gateGain * (float32(length) - gateSlack)
		b.writeNext(down.matrix, n, c.next, 1)
		b.writeNext(down.matrix, n, c.cancel, -1)
	}
	return expertWeights{gateUp: quantise(gateUp), down: quantise(down)}
}

func (b *builder) writeNext(down matrix, neuron int, t token, sign float32) {
	if t == noToken {
		return
	}
	for i, c := range b.nextCode(t) {
		down.row(nextSlot + i)[neuron] += sign * c * cellStrength
	}
}

// Each token has a code of 32 signs. The codes are Gold-like sequences: the
// sign at point x of GF(32) is the trace of a*x + b*x^3, with (a, b) unique to
// the token. Two different codes then agree on 12, 16 or 20 of the 32 points,
// that is, their correlation is at most 1/4 (Gold, "Maximal recursive
// sequences with 3-valued recursive cross-correlation functions", IEEE Trans.
// Information Theory 14, 1968). So 1023 tokens share 32 dimensions with a
// margin that is known, where random signs would only make one likely.
const (
	codeDims = 32
	maxCodes = 1023
)

// gf32Multiply multiplies in GF(2^5) modulo x^5 + x^2 + 1.
func gf32Multiply(a, b uint) (product uint) {
	for i := 4; i >= 0; i-- {
		if product <<= 1; product > 31 {
			product ^= 0b100101
		}
		product ^= a * (b >> i & 1)
	}
	return product
}

// signCode is the code of index 1 to 1023, each element +1 or -1. The trace of GF(2^5) to
// GF(2) is x + x^2 + x^4 + x^8 + x^16.
func signCode(index int) (code [codeDims]float32) {
	a, b := uint(index)&31, uint(index)>>5
	for x := range uint(codeDims) {
		power := gf32Multiply(a, x) ^ gf32Multiply(b, gf32Multiply(x, gf32Multiply(x, x)))
		trace := uint(0)
		for range 5 {
			trace ^= power
			power = gf32Multiply(power, power)
		}
		code[x] = 1 - 2*float32(trace&1)
	}
	return code
}

// contextSlots is how many tokens of context the residual stream carries: the
// current one and two before it.
const contextSlots = 3

// noToken means that there is none.
const noToken = token(-1)

// cell is one thing to remember: after context (oldest token first) comes next. Cells of
// shorter contexts fire as well, so a cell also cancels what they would have predicted:
// its neuron writes code(next) - code(cancel).
type cell struct {
	context      []token
	next, cancel token
}

// last is the token whose expert holds the cell.
func (c cell) last() token { return c.context[len(c.context)-1] }

// planMemory lists the cells that make streams predictable from up to three tokens of
// context: for every context the most frequent successor, the earliest on a tie, unless a
// shorter context already predicts it. Short contexts come first, so a truncated memory
// keeps a working fallback.
func planMemory(streams [][]token) (cells []cell) {
	type key [contextSlots]token // right-aligned, padded with noToken
	keyOf := func(context []token) key {
		k := key{noToken, noToken, noToken}
		copy(k[contextSlots-len(context):], context)
		return k
	}
	memory := map[key]token{}
	// predict is the prediction of the longest remembered suffix of a context.
	predict := func(context []token) token {
		for ; len(context) > 0; context = context[1:] {
			if next, ok := memory[keyOf(context)]; ok {
				return next
			}
		}
		return noToken
	}
	for length := 1; length <= contextSlots; length++ {
		var contexts []key // in order of first appearance
		successors := map[key][]token{}
		for _, stream := range streams {
			for end := length; end < len(stream); end++ {
				k := keyOf(stream[end-length : end])
				if successors[k] == nil {
					contexts = append(contexts, k)
				}
				successors[k] = append(successors[k], stream[end])
			}
		}
		for _, k := range contexts {
			counts := map[token]int{}
			for _, t := range successors[k] {
				counts[t]++
			}
			// the first of those
			next := slices.MaxFunc(successors[k], func(a, b token) int { return counts[a] - counts[b] })
			cancel := predict(k[contextSlots-length+1:])
			if next == cancel {
				continue
			}
			memory[k] = next
			cells = append(cells, cell{context: slices.Clone(k[contextSlots-length:]), next: next, cancel: cancel})
		}
	}
	return cells
}

// placeExperts gives each token a home expert, so every expert holds about the same
// number of cells: tokens with many cells first, each to the expert with the fewest so
// far.
func placeExperts(cells []cell, vocabulary, experts int) []int {
	need := make([]int, vocabulary)
	for _, c := range cells {
		need[c.last()]++
	}
	order := make([]token, vocabulary)
	for t := range order {
		order[t] = token(t)
	}
	slices.SortStableFunc(order, func(a, b token) int { return need[b] - need[a] })
	home, load := make([]int, vocabulary), make([]int, experts)
	for _, t := range order {
		lightest := slices.Index(load, slices.Min(load))
		home[t] = lightest
		load[lightest] += max(need[t], 1)
	}
	return home
}
