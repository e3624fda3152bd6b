package lang

import "testing"

func TestSuggest(t *testing.T) {
	for given, want := range map[string]string{"vlm.b": ` Did you mean "vllm.b"?`, "x": ` Available: "vllm.a", "vllm.b".`} {
		if got := Suggest(given, []string{"vllm.b", "vllm.a"}); got != want {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
	}
}
