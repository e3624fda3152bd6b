package embedded

const vectors = "SSE"

// dot is the sum of products. Lengths are equal, and multiples of 8.
//
//go:noescape
func dot(a, b []float32) float32
