package store

import "github.com/mxflow/mxflow/runtime/ledger"

// MeanLaunchSeconds is how long launches for a purpose took that went well, and
// how many they were: those of the variant with this measurement key, or else
// those of engines of this kind. A qualification sends a few requests and a
// benchmark all of a plan's, so that one says little of the other; an empty
// purpose takes them all. It is for estimates; 0, 0 when nothing is known.
func (s *Store) MeanLaunchSeconds(variantKeyOrEngine, purpose string) (mean float64, n int) {
	for _, of := range []func(*ledger.Launch) string{
		func(l *ledger.Launch) string { return l.VariantKey },
		func(l *ledger.Launch) string { return l.Engine["kind"] },
	} {
		for _, l := range s.Launches(LaunchFilter{Purpose: purpose, OK: true}) {
			if of(l) == variantKeyOrEngine {
				mean, n = mean+l.Seconds, n+1
			}
		}
		if n > 0 {
			return mean / float64(n), n
		}
	}
	return 0, 0
}
