package prompt

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/openai"
)

func TestParseDataset(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Row
	}{
		"prompts": {
			"\xef\xbb\xbf{\"prompt\": \"Why is the sky blue?\"}\r\n\n{\"id\": 7, \"prompt\": \"And the sea?\", \"max_tokens\": 12}",
			[]Row{{Line: 1, Turns: []string{"Why is the sky blue?"}}, {Line: 3, Turns: []string{"And the sea?"}, Output: 12}},
		},
		"messages": {
			`{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Bye"}],
			"output_tokens": 5, "tools": [{"type": "function"}], "tool_choice": "auto"}`,
			[]Row{{
				Line: 1, System: "Be brief.", Turns: []string{"Bye"}, Output: 5,
				Before: []openai.Message{{Role: "user", Content: "Hi"}, {Role: "assistant", Content: "Hello"}},
				Extra:  map[string]any{"tools": []any{map[string]any{"type": "function"}}, "tool_choice": "auto"},
			}},
		},
		"conversations": {
			`{"id": "a", "conversations": [{"from": "system", "value": "S"}, {"from": "human", "value": "one"}, {"from": "gpt", "value": "x"}, {"from": "human", "value": "two"}]}`,
			[]Row{{Line: 1, System: "S", Turns: []string{"one", "two"}}},
		},
		"trace": {
			`{"timestamp": 1000, "input_length": 600, "output_length": 10, "hash_ids": [4, 5]}` + "\n" + `{"timestamp": 1500.5, "input_length": 512, "hash_ids": [4]}`,
			[]Row{{Line: 1, Input: 600, Output: 10, Hashes: []uint64{4, 5}}, {Line: 2, At: 500500 * time.Microsecond, Input: 512, Hashes: []uint64{4}}},
		},
	} {
		d, err := ParseDataset("x.jsonl", []byte(strings.ReplaceAll(c.text, "\n\t", " ")))
		if err != nil || !reflect.DeepEqual(d.Rows, c.want) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

func TestDamagedDatasets(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       "no row",
		"\n \n":                                  "no row",
		`[{"prompt": "a"}]`:                      "jq -c",
		`{"prompt": "a"`:                         "cut",
		`{"prompt": "a"} x`:                      "follows",
		`"prompt"`:                               "one whole JSON object",
		`{"prompt": "a", "prompt": "b"}`:         "two members",
		`{"prompt": "a", "max_token": 5}`:        "max_token",
		`{"prompt": "a", "messages": []}`:        "both",
		`{"text": "a"}`:                          "none of",
		`{"prompt": ""}`:                         "is empty",
		`{"prompt": null}`:                       "must be a text",
		`{"prompt": 5}`:                          "must be a text",
		`{"prompt": "\ud800"}`:                   "surrogate",
		"{\"prompt\": \"\xff\"}":                 "UTF-8",
		`{"prompt": "a", "output_tokens": 1.5}`:  "whole number",
		`{"prompt": "a", "output_tokens": 0}`:    "whole number",
		`{"prompt": "a", "output_tokens": null}`: "whole number",
		`{"prompt": "a", "output_tokens": 1, "max_tokens": 1}`:                                 "both",
		`{"prompt": "a", "tools": {}}`:                                                         "array",
		`{"prompt": "a", "tools": [5]}`:                                                        "tools[0]",
		`{"prompt": "a", "tool_choice": "auto"}`:                                               "no \"tools\"",
		`{"messages": [{"role": "user", "content": [{"type": "text"}]}]}`:                      "messages[0]",
		`{"messages": [{"role": "assistant", "content": "a"}]}`:                                "the user's",
		`{"messages": [{"role": "tool", "content": "a"}]}`:                                     "unknown role",
		`{"messages": [{"role": "user", "content": "a", "name": "b"}]}`:                        "more members",
		`{"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "a"}]}`: "first",
		`{"conversations": [{"from": "gpt", "value": "a"}]}`:                                   "no human",
		`{"conversations": [{"from": "dog", "value": "a"}]}`:                                   "unknown speaker",
		`{"input_length": 5}`:                                                                  "timestamp",
		`{"timestamp": -1, "input_length": 5}`:                                                 "timestamp",
		`{"timestamp": 1, "input_length": 1e9}`:                                                "whole number",
		`{"timestamp": 1, "input_length": 513, "hash_ids": [1]}`:                               "2 whole numbers",
		`{"timestamp": 1, "input_length": 5, "hash_ids": [-1]}`:                                "whole numbers",
		`{"timestamp": 1, "input_length": 5, "prompt": "a"}`:                                   "both",
	} {
		d, err := ParseDataset("x.jsonl", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.jsonl:") || d != nil {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
		good := `{"timestamp": 1, "input_length": 5}` + "\n"
		if !strings.Contains(text, "input") {
			good = `{"prompt": "a"}` + "\n"
		}
		if strings.TrimSpace(text) == "" || text[0] == '[' {
			continue
		}
		if _, err = ParseDataset("x.jsonl", []byte(good+text)); err == nil || !strings.HasPrefix(err.Error(), "x.jsonl:2: ") {
			t.Errorf("%s: error %v, want one of line 2", text, err)
		}
	}
	for text, want := range map[string]string{
		`{"timestamp": 5, "input_length": 5}` + "\n" + `{"timestamp": 4, "input_length": 5}`: "sort",
		`{"timestamp": 5, "input_length": 5}` + "\n" + `{"prompt": "a"}`:                     "same file",
	} {
		if _, err := ParseDataset("x.jsonl", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// Whatever a file holds, it is read whole or refused, and what was read can be
// made into prompts.
func FuzzParseDataset(f *testing.F) {
	for _, seed := range []string{
		`{"prompt": "a", "output_tokens": 3}`,
		`{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}], "tools": [{"a": 1e5}]}`,
		`{"conversations": [{"from": "human", "value": "one"}, {"from": "gpt", "value": "x"}]}`,
		`{"timestamp": 1.5, "input_length": 600, "output_length": 10, "hash_ids": [4, 5]}`,
		"{\"prompt\": \"\\ud83d\\ude00\"}\r\n\n{\"prompt\":\"b\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ParseDataset("x.jsonl", data)
		if err != nil {
			if d != nil || !strings.HasPrefix(err.Error(), "x.jsonl:") {
				t.Fatalf("half read, or without its place: %v", err)
			}
			return
		}
		lines := strings.Count(string(data), "\n") + 1
		for i, r := range d.Rows {
			if r.Line < 1 || r.Line > lines || r.At < 0 || (r.Input > 0) == (len(r.Turns) > 0) {
				t.Fatalf("row %+v", r)
			}
			if r.Input > 0 {
				continue
			}
			p, err := Spec{Data: d, Turns: 9, API: openai.Chat}.given(t.Context(), "measured", i)
			if err != nil || strings.TrimSpace(p.Text) == "" {
				t.Fatalf("%+v, %v", p, err)
			}
			p.encode()
		}
	})
}
