package lang

import "testing"

func TestNear(t *testing.T) {
	for given, want := range map[string]string{"vlm.b": `. Did you mean "vllm.b"?`, "x": ". There is: vllm.a, vllm.b."} {
		if got := NearestOrAll(given, []string{"vllm.a", "vllm.b"}); got != want {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
	}
}
