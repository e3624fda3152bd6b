package runtime

import "testing"

// The address of every node of a candidate leads back to it, also with dots in its
// name.
func TestCandidateOf(t *testing.T) {
	for _, name := range []string{"gemm", "spec[v1.2]", "gemm@production", "size[x.first]"} {
		for _, id := range []string{FeatureID(name), QualifyID(name), BenchmarkID(name), FirstID(name)} {
			if got := CandidateOf(id); got != name {
				t.Errorf("%s is about %q, wanted %q", id, got, name)
			}
		}
	}
	for _, id := range []string{BaselineID, PhaseID("feature.x"), StepID("one", "exec", "gemm")} {
		if got := CandidateOf(id); got != "" {
			t.Errorf("%s is about the candidate %q", id, got)
		}
	}
}
