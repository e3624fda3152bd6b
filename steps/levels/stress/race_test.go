//go:build race

package stress

// overhead is how many times as much memory the race detector makes a program take.
const overhead = 4
