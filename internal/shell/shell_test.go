package shell

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Words are those that a shell would make of the same text, as far as no shell is needed.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"   ", nil},
		{"./serve.sh", []string{"./serve.sh"}},
		{"  KERNEL=marlin\t./serve.sh  ", []string{"KERNEL=marlin", "./serve.sh"}},
		{`a 'b c' "d e" f\ g`, []string{"a", "b c", "d e", "f g"}},
		{`a'b'"c"d`, []string{"abcd"}},
		{`'' "" x`, []string{"", "", "x"}},
		{`--json '{"a": [1, "$x"]}'`, []string{"--json", `{"a": [1, "$x"]}`}},
		{`"a \"b\" \\ \$c \d"`, []string{`a "b" \ $c \d`}},
		{`a\|b`, []string{"a|b"}},
		{"a \\\n b", []string{"a", "b"}},
		{"x#y", []string{"x#y"}},
		{"a~b --port {port}", []string{"a~b", "--port", "{port}"}},
		{"ü 'é à'", []string{"ü", "é à"}},
	} {
		got, err := Words(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.text, got, err, c.want)
		}
		if len(got) == 0 {
			continue
		}
		out, err := exec.Command("sh", "-c", "printf '%s\\0' "+c.text).Output()
		if shell := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil ||
			!slices.Equal(got, shell) {
			t.Errorf("%q: %q, and a shell makes %q of it (%v)", c.text, got, shell, err)
		}
	}
}

// What takes a shell is refused.
func TestWordsNeedAShell(t *testing.T) {
	for _, text := range []string{
		"./serve.sh | tee log", "a && b", "a; b", "a > log", "a < in", "A=1 ./serve.sh $MODEL", `./serve.sh "$MODEL"`,
		"a `id`", "a $(id)",
		"ls *.gguf", "a ?", "a [b]", "~/serve", "A=~/x b", "a # no", "a\nb", "KERNEL='x y' ./serve.sh $A 'q' | cat",
	} {
		_, err := Words(text)
		var needs *NeedsShell
		if !errors.As(err, &needs) {
			t.Errorf("%q: %v, want it to need a shell", text, err)
		}
	}
	for _, text := range []string{"'a", `"a`, `a\`, `"a\`} {
		if words, err := Words(text); err == nil {
			t.Errorf("%q is taken for %q", text, words)
		}
	}
}

// Whatever is quoted is read as it was.
func FuzzWords(f *testing.F) {
	f.Add("a 'b c'", "x\x00y")
	f.Add(`"$A" | \`, "it's {port}")
	f.Fuzz(func(t *testing.T, text, word string) {
		_, _ = Words(text)
		words := []string{word, text, ""}
		got, err := Words(Quote(word) + " " + Quote(text) + " " + Quote(""))
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q became %q, %v", words, got, err)
		}
	})
}
