package embedded

import "math"

// buildAttention draws a layer's attention: random heads that write to the
// scratch dimensions and, in layer 0, the previous-token heads.
func (b *builder) buildAttention(layer int) layerWeights {
	s := b.shape
	l := layerWeights{
		attentionNorm: b.normWeights(), moeNorm: b.normWeights(),
		query: newMatrix(s.queryDims(), s.hidden), queryBias: make([]float32, s.queryDims()),
		key: newMatrix(s.kvDims(), s.hidden), keyBias: make([]float32, s.kvDims()),
		value: newMatrix(s.kvDims(), s.hidden), valueBias: make([]float32, s.kvDims()),
		output: newMatrix(s.hidden, s.queryDims()), oBias: make([]float32, s.hidden),
		sinks:  make([]float32, s.heads),
		router: newMatrix(s.experts, s.hidden), routerBias: make([]float32, s.experts),
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
		l.keyBias[i] = radius
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
			l.queryBias[first+i] = radius * float32(math.Cos(angle))
			l.queryBias[first+half+i] = radius * float32(math.Sin(angle))
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

// buildExperts draws all experts and writes the memory cells into them. Cells
// that no longer fit are left out: a model with fewer layers knows less.
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
	gateUp, gateUpBias := newMatrix(2*s.intermediate, s.hidden), make([]float32, 2*s.intermediate)
	down, downBias := newMatrix(s.hidden, s.intermediate), make([]float32, s.hidden)
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
		gateUpBias[2*n] = -gateGain * (float32(length) - gateSlack)
		b.writeNext(down, n, c.next, 1)
		b.writeNext(down, n, c.cancel, -1)
	}
	return expertWeights{gateUp: quantise(gateUp), gateUpBias: gateUpBias, down: quantise(down), downBias: downBias}
}

func (b *builder) writeNext(down matrix, neuron int, t token, sign float32) {
	if t == noToken {
		return
	}
	for i, c := range b.nextCode(t) {
		down.row(nextSlot + i)[neuron] += sign * c * cellStrength
	}
}
