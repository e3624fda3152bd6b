package report

import (
	"slices"
	"testing"
)

// TestOnce: a cause that everything above it repeats is said in full once.
func TestOnce(t *testing.T) {
	const cause = "the command's output is no JSON: invalid character 'N'"
	said := &Said{}
	got := said.Once("level execution: error: "+cause, "level benchmark: error: level execution is error: "+cause, "level execution: error: "+cause, "x is missing: "+cause, "x: short")
	want := []string{"level execution: error: " + cause, "level benchmark: error: level execution is error, as said above", "x is missing, as said above", "x: short"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestChain: the root, which stands last, is said in full.
func TestChain(t *testing.T) {
	const cause = "level kernels is fail: the path was not seen in the log"
	said := &Said{}
	got := said.Chain([]string{"f was invalid: " + cause, "f.qualify was fail: " + cause})
	want := []string{"f was invalid: level kernels is fail, as said below", "f.qualify was fail: " + cause}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := said.Chain([]string{"f.qualify was fail: " + cause, "g was fail: " + cause}); !slices.Equal(got, []string{"g was fail: level kernels is fail, as said above"}) {
		t.Errorf("again: %q", got)
	}
}
