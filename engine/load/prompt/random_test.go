package prompt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// lettered is an engine whose tokens are pairs of characters; 1 begins every
// text and 2 ends it, as special tokens do.
type lettered struct {
	*fake
	begins int // tokens that the engine puts before ids
	refuse bool
}

func (l *lettered) Tokenize(_ context.Context, text string) (int, []int, error) {
	ids := []int{1}
	for i := 0; i < len(text); i += 2 {
		id := 1000 + int(text[i])
		if i+1 < len(text) {
			id += 128 * int(text[i+1])
		}
		ids = append(ids, id)
	}
	ids = append(ids, 2)
	return len(ids), ids, nil
}

func (l *lettered) Stream(_ context.Context, r openai.Request) (measure.Sample, error) {
	if l.refuse {
		return measure.Sample{}, &openai.StatusError{Method: "POST", Path: "/v1/completions", Status: 400, Body: "prompt must be a string"}
	}
	return measure.Sample{PromptTokens: len(r.Tokens) + l.begins}, nil
}

func TestRandomPrompts(t *testing.T) {
	for begins := range 2 {
		engine := &lettered{fake: &fake{}, begins: begins}
		spec := Spec{Cell: "chat", Seed: 1, Random: true, Tokens: 300, Depth: 50, Warmup: 20, Requests: 100, Learned: &Knowledge{}}
		p, err := Build(t.Context(), engine, spec)
		if err != nil || p.Method != IDs || !p.Exact() {
			t.Fatalf("%s, %v", p.Method, err)
		}
		first, used := map[int]bool{}, map[int]int{}
		for _, one := range slices.Concat(p.Warmup, p.Measured) {
			if len(one.ContextIDs) != 50 || len(one.IDs)+begins != 300 || one.Tokens != 300 || one.ContextTokens != 50 {
				t.Fatalf("%d ids of context and %d of prompt", len(one.ContextIDs), len(one.IDs))
			}
			first[one.ContextIDs[0]] = true
			for _, id := range one.IDs {
				used[id]++
			}
			var r openai.Request
			if one.Fill(&r); len(r.Tokens) != 350-begins || r.Prompt != "" || r.Tokens[0] != one.ContextIDs[0] || r.Tokens[50] != one.IDs[0] {
				t.Fatalf("sent as %+v", r)
			}
		}
		if len(first) != 120 {
			t.Errorf("%d different first ids among 120 prompts", len(first))
		}
		if used[1]+used[2] > 0 || len(used) < fewestSafe {
			t.Errorf("%d different ids, special ones %d times", len(used), used[1]+used[2])
		}
		fewer := spec
		fewer.Requests = 3
		if q, err := Build(t.Context(), engine, fewer); err != nil || fmt.Sprint(q.Measured) != fmt.Sprint(p.Measured[:3]) {
			t.Errorf("a prompt depends on how many there are, %v", err)
		}
	}
}

func TestRandomPromptsThatCannotBe(t *testing.T) {
	spec := Spec{Cell: "chat", Random: true, Tokens: 30, Requests: 1}
	for want, engine := range map[string]*lettered{
		"refused a prompt of token IDs": {fake: &fake{}, refuse: true},
		"unchanged":                     {fake: &fake{}, begins: 9},
	} {
		if _, err := Build(t.Context(), engine, spec); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `prompts = "text"`) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
