package embedded

import "math"

// matrix is a float32 matrix, row-major: one row per output, so a product with a vector
// is one dot product per row.
type matrix struct {
	rows, cols int
	data       []float32
}

func newMatrix(rows, cols int) matrix {
	return matrix{rows: rows, cols: cols, data: make([]float32, rows*cols)}
}

func (m matrix) row(r int) []float32 { return m.data[r*m.cols : (r+1)*m.cols] }

// linear is a matrix with a bias for each row.
type linear struct {
	matrix
	bias []float32
}

func newLinear(rows, cols int) linear { return linear{newMatrix(rows, cols), make([]float32, rows)} }

// apply computes out[t] = w * x[t] + bias for tokens lo to hi. Each element is one dot
// product, whatever the batch size: that keeps greedy output the same whether a token was
// computed alone or with others.
func (w linear) apply(out, x matrix, lo, hi int) {
	for r := range w.rows {
		weights := w.row(r)
		for t := lo; t < hi; t++ {
			out.data[t*out.cols+r] = dot(weights, x.data[t*x.cols:t*x.cols+w.cols]) + w.bias[r]
		}
	}
}

// halfDot is a dot product whose sum is rounded to bfloat16 after each product.
func halfDot(a, b []float32) float32 {
	var sum float32
	for i := range a {
		bits := math.Float32bits(sum + a[i]*b[i]) // nearest, ties to even
		sum = math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
	}
	return sum
}

func addScaled(out, x []float32, factor float32) {
	if factor == 0 {
		return
	}
	x = x[:len(out)]
	for i := range out {
		out[i] += x[i] * factor
	}
}

// The MXFP4 format of the OCP Microscaling Formats (MX) specification v1.0:
// blocks of 32 E2M1 elements (section 5.3.3) that share one E8M0 scale
// (section 5.4.1).
const (
	mxBlock     = 32           // elements that share a scale
	mxBytes     = mxBlock / 2  // two elements a byte, the earlier one in the low nibble
	e8m0Bias    = 127          // scale = 2^(byte-127)
	e8m0NaN     = 0xFF         // the one encoding that is no power of two
	e2m1MaxExp  = 2            // exponent of the largest E2M1 magnitude, 6 = 1.5 * 2^2
	e2m1Largest = float32(6.0) // values beyond it saturate
)

// e2m1Values lists the 16 E2M1 codes: sign bit, two exponent bits (bias 1),
// one mantissa bit. E2M1 has neither infinity nor NaN.
var e2m1Values = [16]float32{
	0, 0.5, 1, 1.5, 2, 3, 4, 6,
	float32(math.Copysign(0, -1)), -0.5, -1, -1.5, -2, -3, -4, -6,
}

// e2m1Pairs decodes a byte to its two elements, so the inner loop of dequantisation is
// one table lookup per byte.
var e2m1Pairs = func() (pairs [256][2]float32) {
	for b := range pairs {
		pairs[b] = [2]float32{e2m1Values[b&15], e2m1Values[b>>4]}
	}
	return pairs
}()

// e8m0Scales decodes a scale byte: 2^(b-127) for 0 to 254, NaN for 255.
var e8m0Scales = func() (scales [256]float32) {
	for b := range scales {
		scales[b] = float32(math.Ldexp(1, b-e8m0Bias))
	}
	scales[e8m0NaN] = float32(math.NaN())
	return scales
}()

// encodeE2M1 rounds x to the nearest E2M1 code, ties to the even code, and
// saturates at 6 (MX specification section 6.3). x must not be NaN.
func encodeE2M1(x float32) byte {
	magnitude := min(float32(math.Abs(float64(x))), e2m1Largest)
	var code byte
	for code < 7 {
		middle := (e2m1Values[code] + e2m1Values[code+1]) / 2
		if magnitude < middle || (magnitude == middle && code%2 == 0) {
			break
		}
		code++
	}
	if math.Signbit(float64(x)) {
		code |= 8
	}
	return code
}

// blockScale chooses the shared scale of a block as in the specification's section 6.3:
// the exponent of the largest magnitude minus the largest exponent of an element. Values
// are finite: E2M1 can represent neither NaN nor infinity.
func blockScale(values []float32) byte {
	var largest float64
	for _, v := range values {
		largest = max(largest, math.Abs(float64(v)))
	}
	if largest == 0 {
		return e8m0Bias
	}
	_, exponent := math.Frexp(largest) // largest = f * 2^exponent, f in [0.5, 1)
	biased := exponent - 1 - e2m1MaxExp + e8m0Bias
	return byte(min(max(biased, 0), e8m0NaN-1))
}

// mxLinear is linear with a matrix in MXFP4, blocks along the rows.
type mxLinear struct {
	cols   int    // a multiple of 32
	codes  []byte // rows * cols / 2
	scales []byte // rows * cols / 32
	bias   []float32
}

func quantise(m linear) mxLinear {
	q := mxLinear{
		cols: m.cols, bias: m.bias,
		codes: make([]byte, m.rows*m.cols/2), scales: make([]byte, m.rows*m.cols/mxBlock),
	}
	for b := range q.scales {
		values := m.data[b*mxBlock : (b+1)*mxBlock]
		q.scales[b] = blockScale(values)
		inverse := 1 / float64(e8m0Scales[q.scales[b]])
		for i := range mxBytes {
			lo := encodeE2M1(float32(float64(values[2*i]) * inverse))
			hi := encodeE2M1(float32(float64(values[2*i+1]) * inverse))
			q.codes[b*mxBytes+i] = lo | hi<<4
		}
	}
	return q
}

// row dequantises row r into dst, which holds cols elements.
func (q *mxLinear) row(r int, dst []float32) {
	blocks := q.cols / mxBlock
	for b := range blocks {
		at := r*blocks + b
		scale := e8m0Scales[q.scales[at]]
		codes := q.codes[at*mxBytes : at*mxBytes+mxBytes]
		out := dst[b*mxBlock : b*mxBlock+mxBlock]
		for i, c := range codes {
			pair := &e2m1Pairs[c]
			out[2*i] = pair[0] * scale
			out[2*i+1] = pair[1] * scale
		}
	}
}
