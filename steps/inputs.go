package steps

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
)

// InputsOf is the record of a plan's inputs. Sensitive values are left out, and so are
// those that may be: by their name, by the name of the environment variable that they end
// up in, or because they contain a secret or are part of one. For those, seal makes a
// mark.
func InputsOf(loaded *load.Result, seal func(text string) (string, error)) (*plans.Inputs, error) {
	in := loaded.Inputs()
	secret := append(loaded.Plan.Secrets(), secretlyNamed(loaded.Plan)...)
	sealed := map[string]string{}
	sort := func(prefix string, values map[string]string) (map[string]string, error) {
		kept := map[string]string{}
		for name, text := range sorted.All(values) {
			if !in.Private(prefix+name) && !redact.SecretName(name) && !partOf(text, secret) {
				kept[name] = text
				continue
			}
			mark, err := seal(text)
			if err != nil {
				return nil, err
			}
			sealed[prefix+name] = mark
		}
		return kept, nil
	}
	var err error
	if in.Variables, err = sort("var.", in.Variables); err != nil {
		return nil, err
	}
	in.Env, err = sort("env.", in.Env)
	in.Sealed = sealed
	return &in, err
}

// partOf reports whether a value holds one of the secrets, in whichever spelling,
// or is a part of one.
func partOf(text string, secrets []string) bool {
	if r := redact.OnlyWhole(secrets); r.Text(text) != text {
		return true
	}
	bare := strings.Trim(text, `"`)
	if len(bare) < redact.MinLength {
		return false
	}
	return slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(s, bare) })
}

// secretlyNamed are the values of a plan's environment variables that are secret by their
// names, such as HF_TOKEN.
func secretlyNamed(p *plans.Plan) (values []string) {
	text, err := json.Marshal([]any{p.Engines, p.Knobs, p.Phases})
	var all any
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case string:
			if redact.SecretName(name) && name != "Key" && v != "" { // a field of ours
				values = append(values, v)
			}
		case []any:
			for _, e := range v {
				walk("", e)
			}
		case map[string]any:
			for key, e := range sorted.All(v) {
				walk(key, e)
			}
		}
	}
	walk("", all)
	return values
}

// FilesOf are the files that a plan reads and that a run may keep, by their names: a file
// is left out for the same reasons as a value in InputsOf. A plan often uses only a part
// of a file, joined with other text.
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
	return redact.SecretName(words.Replace(base)) ||
		redact.SecretName(words.Replace(strings.TrimSuffix(base, path.Ext(base))))
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
	whole := redact.OnlyWhole([]string{text})
	for _, s := range secrets {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if s == text || whole.Text(s) != s ||
			slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) }) {
			return true
		}
	}
	return false
}
