package plans

// Nearest is the candidate that somebody who wrote given most likely meant; empty
// where none is close.
func Nearest(given string, candidates []string) string { return closest(given, candidates) }
