package enginetest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// requireEnv lists, comma-separated, what this machine must have for the tests: "docker".
// Otherwise a test whose part is missing is skipped.
const requireEnv = "MXFLOW_TEST_REQUIRE"

// Required reports whether tests fail if a part is missing.
func Required(part string) bool {
	return slices.Contains(strings.Split(os.Getenv(requireEnv), ","), part)
}

// Require skips the test, or fails it if the part is required: missing is why the part
// cannot be used, nil if it can.
func Require(t testing.TB, part string, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case Required(part):
		t.Fatalf("%s=%s, and %s cannot be used: %v", requireEnv, os.Getenv(requireEnv), part, missing)
	default:
		t.Skipf("%s cannot be used here (%s=%s makes this a failure): %v", part, requireEnv, part, missing)
	}
}
