package embedded

// workspace holds the activations of one chunk.
type workspace struct {
	residual, normed, projected batch // chunk × hidden
	query, attended             batch // chunk × heads*headDim
	key, value                  batch // chunk × kvHeads*headDim
	mix                         batch // chunk × experts: routing weights
	activated                   batch // chunk × intermediate
	workers                     []workerSpace
	final                       batch     // outputs × hidden
	logits                      batch     // outputs × vocabulary
	row                         []float32 // a dequantised row of the lm_head
}

// workerSpace is what a thread needs for itself.
type workerSpace struct {
	members []int     // tokens of the expert in hand
	gates   []float32 // by member
	row     []float32 // a dequantised weight row
	scores  []float32 // of one head, by position
}

// newWorkspace has room for the logits of so many outputs of one step.
func newWorkspace(s shape, threads, outputs int) *workspace {
	ws := &workspace{
		residual: newMatrix(chunkTokens, s.hidden), normed: newMatrix(chunkTokens, s.hidden),
		projected: newMatrix(chunkTokens, s.hidden),
		query:     newMatrix(chunkTokens, s.queryDims()), attended: newMatrix(chunkTokens, s.queryDims()),
		key: newMatrix(chunkTokens, s.kvDims()), value: newMatrix(chunkTokens, s.kvDims()),
		mix: newMatrix(chunkTokens, s.experts), activated: newMatrix(chunkTokens, s.intermediate),
		final: newMatrix(outputs, s.hidden), logits: newMatrix(outputs, s.vocabulary),
		row: make([]float32, s.hidden),
	}
	for range threads {
		ws.workers = append(ws.workers, workerSpace{
			gates: make([]float32, chunkTokens), row: make([]float32, max(s.hidden, s.intermediate)),
			scores: make([]float32, s.maxPositions),
		})
	}
	return ws
}
