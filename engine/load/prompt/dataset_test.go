package prompt

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestParseDataset(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Row
	}{
		"prompts": {
			"\xef\xbb\xbf{\"prompt\": \"Why is the sky blue?\"}\r\n\n{\"id\": 7, \"prompt\": \"And the sea?\", " +
				"\"max_tokens\": 12}",
			[]Row{
				{Line: 1, Turns: []string{"Why is the sky blue?"}},
				{Line: 3, Turns: []string{"And the sea?"}, Output: 12},
			},
		},
		"messages": {
			`{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Bye"}],
			"output_tokens": 5, "tools": [{"type": "function"}], "tool_choice": "auto"}`,
			[]Row{{
				Line: 1, System: "Be brief.", Turns: []string{"Bye"}, Output: 5,
				Before: []openai.Message{{Role: "user", Content: "Hi"}, {Role: "assistant", Content: "Hello"}},
				Extra:  map[string]any{"tools": []map[string]any{{"type": "function"}}, "tool_choice": "auto"},
			}},
		},
		"conversations": {
			`{"id": "a", "conversations": [{"from": "system", "value": "S"}, {"from": "human", "value": "one"}, {"from": "gpt", "value": "x"}, {"from": "human", "value": "two"}]}`,
			[]Row{{Line: 1, System: "S", Turns: []string{"one", "two"}}},
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
		``:                                      "no row",
		"\n \n":                                 "no row",
		`[{"prompt": "a"}]`:                     "jq -c",
		`{"prompt": "a"`:                        "truncated",
		`{"prompt": "a"} x`:                     "after the object",
		`{"prompt": "a"}}`:                      "not one object",
		`"prompt"`:                              "not one object",
		`{"prompt": "a", "max_token": 5}`:       "max_token",
		`{"prompt": "a", "messages": [{}]}`:     "needs one of",
		`{"text": "a"}`:                         "text",
		`{"id": 5}`:                             "needs one of",
		`{"prompt": " "}`:                       "is empty",
		`{"prompt": 5}`:                         "number",
		"{\"prompt\": \"\xff\"}":                "UTF-8",
		`{"prompt": "a", "output_tokens": 1.5}`: "1.5",
		`{"prompt": "a", "output_tokens": 0}`:   "number of tokens",
		`{"prompt": "a", "output_tokens": 1, "max_tokens": 1}`:                                 "one of",
		`{"prompt": "a", "tools": {}}`:                                                         "tools",
		`{"prompt": "a", "tools": [5]}`:                                                        "tools",
		`{"prompt": "a", "tool_choice": "auto"}`:                                               "no \"tools\"",
		`{"messages": [{"role": "user", "content": [{"type": "text"}]}]}`:                      "content",
		`{"messages": [{"role": "assistant", "content": "a"}]}`:                                "the user's",
		`{"messages": [{"role": "tool", "content": "a"}]}`:                                     "unknown author",
		`{"messages": [{"role": "user", "content": "a", "name": "b"}]}`:                        "name",
		`{"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "a"}]}`: "first",
		`{"messages": [{"role": "user", "content": ""}]}`:                                      "is empty",
		`{"conversations": [{"from": "gpt", "value": "a"}]}`:                                   "one of the human",
		`{"conversations": [{"from": "dog", "value": "a"}]}`:                                   "unknown author",
	} {
		d, err := ParseDataset("x.jsonl", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.jsonl:") ||
			d != nil {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
		good := `{"prompt": "good"}` + "\n"
		if strings.TrimSpace(text) == "" || text[0] == '[' {
			continue
		}
		if _, err = ParseDataset("x.jsonl", []byte(good+text)); err == nil ||
			!strings.HasPrefix(err.Error(), "x.jsonl:2: ") {
			t.Errorf("%s: error %v, want one of line 2", text, err)
		}
	}
}

// Any file is read whole or refused, and what was read can be made into prompts.
func FuzzParseDataset(f *testing.F) {
	for _, seed := range []string{
		`{"prompt": "a", "output_tokens": 3}`,
		`{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}], "tools": [{"a": 1e5}]}`,
		`{"conversations": [{"from": "human", "value": "one"}, {"from": "gpt", "value": "x"}]}`,
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
			if r.Line < 1 || r.Line > lines || len(r.Turns) == 0 {
				t.Fatalf("row %+v", r)
			}
			p, err := Spec{Data: d, Turns: 9, API: openai.Chat}.fromDataset(t.Context(), "measured", i)
			if err != nil || strings.TrimSpace(p.Text) == "" {
				t.Fatalf("%+v, %v", p, err)
			}
			encode(p)
		}
	})
}

func parsed(t *testing.T, text string) *Dataset {
	t.Helper()
	d, err := ParseDataset("x.jsonl", []byte(text))
	must.Do(t, err)
	return d
}

func TestPromptsOfADataset(t *testing.T) {
	d := parsed(t, `{"prompt": "one", "output_tokens": 7}
{"conversations": [{"from": "human", "value": "two"}, {"from": "gpt", "value": "x"}, {"from": "human", "value": "more"}, {"from": "human", "value": "still"}]}
{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}], "tools": [{"x": 1}]}
{"prompt": "last"}`)
	f := &fake{}
	p, err := Build(t.Context(), f, Spec{
		Cell: "chat", API: openai.Chat, Data: d, Turns: 2, Warmup: 1, Requests: 3,
		Outputs: &Lengths{Distribution: Uniform, Min: 5, Max: 5},
	})
	if err != nil || p.Method != Given || p.Exact() {
		t.Fatal(p, err)
	}
	if len(f.sent) > 0 || f.counts > 0 {
		t.Error("the engine was asked about prompts that are sent unchanged")
	}
	want := []Prompt{
		{Text: "one", Output: 7},
		{Text: "two", Output: 5, Next: &Prompt{Text: "more", Output: 5}},
		{Text: "c", System: "s", Output: 5, Before: []openai.Message{
			{Role: "user", Content: "a"},
			{Role: "assistant", Content: "b"},
		}, Extra: map[string]any{"tools": []map[string]any{{"x": 1.0}}}},
	}
	if !reflect.DeepEqual(p.Measured, want) || !reflect.DeepEqual(p.Warmup, []Prompt{{Text: "last", Output: 5}}) {
		t.Errorf("%+v and %+v", p.Measured, p.Warmup)
	}
	r := openai.Request{API: openai.Chat}
	p.Measured[2].Fill(&r)
	if len(r.Before) != 3 || r.Before[0].Role != "system" || r.Prompt != "c" || r.Extra["tools"] == nil {
		t.Errorf("sent as %+v", r)
	}
	if _, err := Build(t.Context(), f, Spec{Cell: "chat", Data: d, Requests: 3}); err == nil ||
		!strings.Contains(err.Error(), "x.jsonl:3") {
		t.Errorf("messages for completions: %v", err)
	}
}

// A change of anything that is sent changes the digest.
func TestDigestCoversAll(t *testing.T) {
	of := func(p Prompt) string { return Prompts{Measured: []Prompt{p}}.Digest() }
	base := Prompt{Text: "a"}
	seen := map[string]string{of(base): "nothing"}
	v := reflect.ValueOf(&base).Elem()
	for i := range v.NumField() {
		changed := base
		field := reflect.ValueOf(&changed).Elem().Field(i)
		name := v.Type().Field(i).Name
		switch old := field.Interface().(type) {
		case string:
			field.SetString(old + "b")
		case int, time.Duration:
			field.SetInt(field.Int() + 5)
		case bool:
			field.SetBool(!old)
		case []openai.Message:
			field.Set(reflect.ValueOf([]openai.Message{{Role: "user", Content: "x"}}))
		case *Prompt:
			field.Set(reflect.ValueOf(&Prompt{Text: "c"}))
		case map[string]any:
			field.Set(reflect.ValueOf(map[string]any{"tools": 1}))
		default:
			t.Fatalf("%s has a type that this test does not know", name)
		}
		if other := seen[of(changed)]; other != "" {
			t.Errorf("%s changes the digest as %s does", name, other)
		}
		seen[of(changed)] = name
	}
	one, two := Prompts{Warmup: []Prompt{base}}, Prompts{Measured: []Prompt{base}}
	if one.Digest() == two.Digest() {
		t.Error("a warm-up is not measured")
	}
}

func TestDrawnLengths(t *testing.T) {
	f := &fake{count: tokenizers["pieces of four"]}
	spec := Spec{
		Cell: "chat", API: openai.Chat, Seed: 3, Warmup: 2, Requests: 20, Turns: 3,
		Lengths: &Lengths{Distribution: Lognormal, Mean: 200, Std: 100, Min: 40, Max: 500},
		Outputs: &Lengths{Distribution: Uniform, Min: 10, Max: 90},
	}
	p, err := Build(t.Context(), f, spec)
	if err != nil || !p.Exact() {
		t.Fatal(err)
	}
	lengths, outputs := map[int]bool{}, map[int]bool{}
	for _, one := range p.Measured {
		turns := 0
		for turn := &one; turn != nil; turn = turn.Next {
			turns++
			lengths[turn.Tokens], outputs[turn.Output] = true, true
			if turn.Output < 10 || turn.Output > 90 || turn.Tokens < 40 || turn.Tokens > 500+p.Template {
				t.Errorf("%d tokens, %d of answer", turn.Tokens, turn.Output)
			}
		}
		if turns != 3 {
			t.Errorf("%d turns", turns)
		}
	}
	if len(lengths) < 20 || len(outputs) < 15 {
		t.Errorf("%d different lengths and %d of answers", len(lengths), len(outputs))
	}
	// Cells that differ in anything else have the same lengths.
	spec.Cell = "chat.c4"
	q, err := Build(t.Context(), f, spec)
	shape := func(p Prompts) (s string) {
		for _, one := range p.Measured {
			s += fmt.Sprint(one.Tokens, one.Output, " ")
		}
		return s
	}
	if err != nil || shape(p) != shape(q) || p.Digest() == q.Digest() {
		t.Errorf("%s and %s, %v", shape(p), shape(q), err)
	}
}
