//go:build !amd64

package embedded

const vectors = "none"

// dot is the sum of products, added in the order of dot_amd64.s. Lengths are equal, and
// multiples of 8.
func dot(a, b []float32) float32 {
	var s [8]float32
	for i := 0; i < len(a); i += 8 {
		x, y := (*[8]float32)(a[i:]), (*[8]float32)(b[i:])
		for j := range s {
			s[j] += x[j] * y[j]
		}
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
