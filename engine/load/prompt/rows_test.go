package prompt

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/openai"
)

func parsed(t *testing.T, text string) *Dataset {
	t.Helper()
	d, err := ParseDataset("x.jsonl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPromptsOfADataset(t *testing.T) {
	d := parsed(t, `{"prompt": "one", "output_tokens": 7}
{"conversations": [{"from": "human", "value": "two"}, {"from": "gpt", "value": "x"}, {"from": "human", "value": "more"}, {"from": "human", "value": "still"}]}
{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}], "tools": [{"x": 1}]}
{"prompt": "last"}`)
	f := &fake{}
	p, err := Build(t.Context(), f, Spec{Cell: "chat", API: openai.Chat, Data: d, Turns: 2, Warmup: 1, Requests: 3, Outputs: &Lengths{Distribution: Uniform, Min: 5, Max: 5}})
	if err != nil || p.Method != Given || p.Exact() {
		t.Fatal(p, err)
	}
	if len(f.sent) > 0 || f.counts > 0 {
		t.Error("the engine was asked about prompts that are sent as they are")
	}
	want := []Prompt{
		{Text: "one", Output: 7},
		{Text: "two", Output: 5, Next: &Prompt{Text: "more", Output: 5}},
		{Text: "c", System: "s", Output: 5, Before: []openai.Message{{Role: "user", Content: "a"}, {Role: "assistant", Content: "b"}}, Extra: map[string]any{"tools": []any{map[string]any{"x": 1.0}}}},
	}
	if !reflect.DeepEqual(p.Measured, want) || !reflect.DeepEqual(p.Warmup, []Prompt{{Text: "last", Output: 5}}) {
		t.Errorf("%+v and %+v", p.Measured, p.Warmup)
	}
	r := openai.Request{API: openai.Chat}
	p.Measured[2].Fill(&r)
	if len(r.Before) != 3 || r.Before[0].Role != "system" || r.Prompt != "c" || r.Extra["tools"] == nil {
		t.Errorf("sent as %+v", r)
	}
	if _, err := Build(t.Context(), f, Spec{Cell: "chat", Data: d, Requests: 3}); err == nil || !strings.Contains(err.Error(), "x.jsonl:3") {
		t.Errorf("messages for completions: %v", err)
	}
}

func TestPromptsOfATrace(t *testing.T) {
	absent := &openai.StatusError{Status: 404}
	d := parsed(t, `{"timestamp": 100, "input_length": 1300, "output_length": 9, "hash_ids": [1, 2, 3]}
{"timestamp": 600, "input_length": 1100, "output_length": 8, "hash_ids": [1, 2, 7]}
{"timestamp": 700, "input_length": 40, "hash_ids": [9]}
{"timestamp": 700, "input_length": 1100, "output_length": 8, "hash_ids": [1, 2, 7]}`)
	for _, f := range []*fake{{count: tokenizers["pieces of four"]}, {count: tokenizers["pieces of four"], noTokens: absent}} {
		for _, api := range []openai.API{openai.Completions, openai.Chat} {
			p, err := Build(t.Context(), f, Spec{Cell: "trace", API: api, Data: d, Warmup: 5, Requests: 4, CountTemplate: true})
			if err != nil || !p.Exact() {
				t.Fatalf("%s: exact %v, %v", api, p.Exact(), err)
			}
			for i, one := range p.Measured {
				row := d.Rows[i]
				if seen := f.sees(t, api, one); seen != row.Input || one.Output != row.Output || one.At != row.At {
					t.Errorf("%s row %d: %d tokens, want %d; %+v", api, i, seen, row.Input, one)
				}
			}
			a, b := p.Measured[0].Text, p.Measured[1].Text
			same := 0
			for same < len(b) && a[same] == b[same] {
				same++
			}
			if n := f.count(a[:same]); n < 1000 || n > 1024+8 {
				t.Errorf("%s: the first two share %d tokens, want those of two blocks", api, n)
			}
			if p.Measured[1].Text != p.Measured[3].Text || p.Measured[2].Text[:8] == a[:8] {
				t.Error("equal rows differ, or others are alike")
			}
			for _, one := range p.Warmup {
				if strings.HasPrefix(one.Text, a[:8]) || one.At != 0 {
					t.Error("a warm-up leaves blocks in the cache")
				}
			}
		}
	}
	if !d.SharesPrefixes() || d.Rows[1].At != 500*time.Millisecond {
		t.Error("the trace is not what was read")
	}
	_, err := Build(t.Context(), &fake{noTokens: absent, noUsage: true}, Spec{Cell: "trace", Data: d, Requests: 4})
	if err == nil || !strings.Contains(err.Error(), "x.jsonl:1") || !strings.Contains(err.Error(), "remove hash_ids") {
		t.Errorf("an engine that counts nothing: %v", err)
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
		case []int:
			field.Set(reflect.ValueOf([]int{3}))
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
			lengths[turn.Asked], outputs[turn.Output] = true, true
			if turn.Output < 10 || turn.Output > 90 || turn.Asked < 40 || turn.Asked > 500+p.Template {
				t.Errorf("%d tokens, %d of answer", turn.Asked, turn.Output)
			}
		}
		if turns != 3 {
			t.Errorf("%d turns", turns)
		}
	}
	if len(lengths) < 20 || len(outputs) < 15 {
		t.Errorf("%d different lengths and %d of answers", len(lengths), len(outputs))
	}
	// Cells that differ in something else have the same lengths.
	spec.Cell = "chat.c4"
	q, err := Build(t.Context(), f, spec)
	shape := func(p Prompts) (s string) {
		for _, one := range p.Measured {
			s += fmt.Sprint(one.Asked, one.Output, " ")
		}
		return s
	}
	if err != nil || shape(p) != shape(q) || p.Digest() == q.Digest() {
		t.Errorf("%s and %s, %v", shape(p), shape(q), err)
	}
}
