package lang

import "testing"

func TestSuggest(t *testing.T) {
	for given, want := range map[string]string{"vlm.b": ` Did you mean "vllm.b"?`, "vlmm.a": ` Did you mean "vllm.a"?`, "x": ` Available: "vllm.a", "vllm.b".`} {
		if got := Suggest(given, []string{"vllm.b", "vllm.a"}); got != want {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
	}
	if got := Suggest("fsat", []string{"fast", "slow"}); got != ` Did you mean "fast"?` {
		t.Errorf("two letters in each other's place: %q", got)
	}
}
