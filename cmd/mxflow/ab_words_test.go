package main

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Words are those that a shell would make of the same text, as far as no shell is
// needed.
func TestShellWords(t *testing.T) {
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
		got, err := shellWords(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.text, got, err, c.want)
		}
		if len(got) == 0 {
			continue
		}
		out, err := exec.Command("sh", "-c", "printf '%s\\0' "+c.text).Output()
		if shell := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, shell) {
			t.Errorf("%q: %q, and a shell makes %q of it (%v)", c.text, got, shell, err)
		}
	}
}

// What takes a shell is refused, with a command that does the same through one.
func TestShellWordsNeedAShell(t *testing.T) {
	for _, text := range []string{
		"./serve.sh | tee log", "a && b", "a; b", "a > log", "a < in", "A=1 ./serve.sh $MODEL", `./serve.sh "$MODEL"`, "a `id`", "a $(id)",
		"ls *.gguf", "a ?", "a [b]", "~/serve", "A=~/x b", "a # no", "a\nb", "KERNEL='x y' ./serve.sh $A 'q' | cat",
	} {
		_, err := shellWords(text)
		var shell *needsShell
		if !errors.As(err, &shell) {
			t.Errorf("%q: %v, want it to need a shell", text, err)
			continue
		}
		_, err = parseArm("a", text)
		if err == nil || !strings.Contains(err.Error(), "sh -c") {
			t.Errorf("%q: %v says nothing of sh -c", text, err)
		}
		arm, err := parseArm("a", throughShell(text))
		if err != nil || arm.Words[0] != "sh" || arm.Words[1] != "-c" || len(arm.Words) != 3 {
			t.Errorf("%q: the cure %q is %q, %v", text, throughShell(text), arm.Words, err)
		}
	}
	for _, text := range []string{"'a", `"a`, `a\`, `"a\`} {
		if words, err := shellWords(text); err == nil {
			t.Errorf("%q is taken for %q", text, words)
		}
	}
}

// Whatever is quoted is read as it was.
func FuzzShellWords(f *testing.F) {
	f.Add("a 'b c'", "x\x00y")
	f.Add(`"$A" | \`, "it's {port}")
	f.Fuzz(func(t *testing.T, text, word string) {
		_, _ = shellWords(text)
		_, _ = parseArm("a", throughShell(text))
		words := []string{word, text, ""}
		got, err := shellWords(shellJoin(words))
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q became %q, %v", words, got, err)
		}
	})
}

// What env leaves out of a script is nothing that a comparison records.
func TestSecretsInCommands(t *testing.T) {
	for _, name := range []string{"HF_TOKEN", "DB_PASSWORD", "API_KEY", "SERVICE_CREDENTIALS", "PROXY_AUTH", "session_cookie"} {
		if _, err := parseArm("a", name+"=x ./serve.sh"); err == nil || !strings.Contains(err.Error(), "looks like a secret") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := parseArm("a", name+"= ./serve.sh"); err != nil {
			t.Errorf("%s without a value: %v", name, err)
		}
	}
	if _, err := parseArm("a", "MOE_KERNEL=marlin TOKENS=4 ./serve.sh"); err != nil {
		t.Error(err)
	}
}
