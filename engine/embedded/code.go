package embedded

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
func gf32Multiply(a, b uint) uint {
	var product uint
	for i := range 5 {
		if b>>i&1 == 1 {
			product ^= a << i
		}
	}
	for i := 8; i >= 5; i-- {
		if product>>i&1 == 1 {
			product ^= 0b100101 << (i - 5)
		}
	}
	return product
}

// gf32Trace is the trace of GF(2^5) to GF(2): x + x^2 + x^4 + x^8 + x^16.
func gf32Trace(x uint) uint {
	sum, power := uint(0), x
	for range 5 {
		sum ^= power
		power = gf32Multiply(power, power)
	}
	return sum & 1
}

// signCode is the code of index 1 to 1023, each element +1 or -1.
func signCode(index int) [codeDims]float32 {
	a, b := uint(index)&31, uint(index)>>5
	var code [codeDims]float32
	for x := range uint(codeDims) {
		cube := gf32Multiply(x, gf32Multiply(x, x))
		bit := gf32Trace(gf32Multiply(a, x) ^ gf32Multiply(b, cube))
		code[x] = 1 - 2*float32(bit)
	}
	return code
}
