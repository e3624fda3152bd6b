package lang

import (
	"fmt"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestSuggest(t *testing.T) {
	for given, want := range map[string]string{
		"vlm.b": ` Did you mean "vllm.b"?`, "vlmm.a": ` Did you mean "vllm.a"?`,
		"x": ` Available: "vllm.a", "vllm.b".`,
	} {
		must.Equal(t, given, Suggest(given, []string{"vllm.b", "vllm.a"}), want)
	}
	if got := Suggest("fsat", []string{"fast", "slow"}); got != ` Did you mean "fast"?` {
		t.Errorf("two letters in each other's place: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, of := range []struct {
		given, meant string
		want         int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"kitten", "sitting", 3},
		{"fsat", "fast", 1},
		{"fsta", "fast", 2},
		{"größe", "grösse", 2},
	} {
		must.Equal(t, fmt.Sprint(of.given, " ", of.meant), distance(of.given, of.meant), of.want)
	}
}
