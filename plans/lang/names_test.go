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

func TestDistance(t *testing.T) {
	for _, of := range []struct {
		given, meant string
		want         int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"kitten", "sitting", 3},
		{"fsat", "fast", 1},
		{"fsta", "fast", 2},
		{"phrase", "phase", 1},
		{"größe", "grösse", 2},
		{"ab", "ba", 1},
	} {
		if got := distance(of.given, of.meant); got != of.want {
			t.Errorf("%q, %q: %d, want %d", of.given, of.meant, got, of.want)
		}
	}
}
