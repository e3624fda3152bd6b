package embedded

// shape holds the model's dimensions, in the words of a Hugging Face config.
// Dimensions divide by 32 so that MXFP4 blocks fall on whole rows.
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

// defaultShape is sized for a laptop: a launch with a short benchmark takes a
// few seconds even with every optimisation switched off.
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

// slides reports whether a layer attends through the sliding window. As in
// gpt-oss the even layers do.
func (s shape) slides(layer int) bool { return layer%2 == 0 }

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
	attentionNorm, moeNorm               []float32
	query, key, value, output            matrix
	queryBias, keyBias, valueBias, oBias []float32
	sinks                                []float32 // one logit a query head
	router                               matrix    // experts × hidden
	routerBias                           []float32
	experts                              []expertWeights
}

// expertWeights is one expert. Gate and up rows alternate, as in gpt-oss.
type expertWeights struct {
	gateUp     mxMatrix // 2*intermediate × hidden
	gateUpBias []float32
	down       mxMatrix // hidden × intermediate
	downBias   []float32
}

// bytes is the memory of all matrices; norms and sinks are small change.
func (w *weights) bytes() int {
	total := w.embedding.bytes() + w.lmHead.bytes()
	for i := range w.layers {
		l := &w.layers[i]
		total += l.query.bytes() + l.key.bytes() + l.value.bytes() + l.output.bytes() + l.router.bytes()
		for e := range l.experts {
			x := &l.experts[e]
			total += x.gateUp.bytes() + x.down.bytes() + 4*(len(x.gateUpBias)+len(x.downBias))
		}
	}
	return total
}
