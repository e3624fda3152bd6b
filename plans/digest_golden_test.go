package plans

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDigestsStay holds the digest of every valid plan here: a digest that moves
// makes recorded plans look changed.
func TestDigestsStay(t *testing.T) {
	var b strings.Builder
	for _, pattern := range []string{"testdata/valid/*.hcl", "testdata/valid_yaml/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no plans: %v", err)
		}
		for _, path := range paths {
			fmt.Fprintf(&b, "%s %s\n", mustLoad(t, path).Digest(), path)
		}
	}
	golden := "testdata/digests.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("digests moved (%v):\n%s\nwant\n%s", err, b.String(), want)
	}
}
