//go:build !race

package stress

const overhead = 1
