package steps

import (
	"path"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/redact"
)

// FilesOf are the files that a plan reads and that a run may keep, by their names: a
// file is left out for what leaves a value out of InputsOf. What a plan takes out of a
// file is often only a part of it, and goes with more into what it makes.
func FilesOf(loaded *load.Result) map[string]string {
	secret := append(loaded.Plan.Secrets(), secretlyNamed(loaded.Plan)...)
	kept := loaded.ReadFiles()
	for name, text := range kept {
		if secretFile(name) || sharesWith(text, secret) {
			delete(kept, name)
		}
	}
	return kept
}

// secretFile reports whether a file is secret by its name, with its ending or
// without: hf-token.txt, server.key.
func secretFile(name string) bool {
	base := path.Base(name)
	words := strings.NewReplacer("-", "_", ".", "_", " ", "_")
	return redact.SecretName(words.Replace(base)) || redact.SecretName(words.Replace(strings.TrimSuffix(base, path.Ext(base))))
}

// sharesWith reports whether a text has something of a secret in it: all of it, the
// text itself in whichever spelling, or a word.
func sharesWith(text string, secrets []string) bool {
	text = strings.TrimSpace(text)
	if partOf(text, secrets) {
		return true
	}
	words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n\"'`=:,;(){}[]<>", c) })
	words = slices.DeleteFunc(words, func(word string) bool { return len(word) < 2*redact.MinLength })
	whole := redact.New([]string{text})
	for _, s := range secrets {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if s == text || whole.Text(s) != s || slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) }) {
			return true
		}
	}
	return false
}
