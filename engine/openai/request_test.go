package openai

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/require"
)

func TestRequestBody(t *testing.T) {
	var path, said string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		path, said = r.URL.Path+" "+r.Header.Get("Authorization"), string(b)
		script(completion("a", ""), end)(w, r)
	})
	c.Header = http.Header{"Authorization": {"Bearer k"}}
	c.Rename = map[string]string{"repetition_penalty": "repeat_penalty"}
	seed := int64(0)
	const final = `"stream":true,"stream_options":{"include_usage":true}`
	for _, tt := range []struct {
		r     Request
		extra map[string]any
		said  string
	}{
		{
			Request{Prompt: "p", MaxTokens: 4, Seed: &seed, IgnoreEOS: true, ContinuousUsage: true},
			nil,
			`{"model":"tiny","prompt":"p","max_tokens":4,"temperature":0,"seed":0,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		},
		{
			Request{API: Chat, Prompt: "p", MinTokens: 2, Temperature: 0.5, Stop: []string{"\n"}},
			nil,
			`{"model":"tiny","messages":[{"role":"user","content":"p"}],"temperature":0.5,"min_tokens":2,"stop":["\n"],` + final + `}`,
		},
		{
			Request{Tokens: []int{3, 1, 2}, TopP: 0.9, TopK: -1, MinP: 0.05, RepetitionPenalty: 1.1},
			nil,
			`{"model":"tiny","prompt":[3,1,2],"temperature":0,"top_p":0.9,"top_k":-1,"min_p":0.05,"repeat_penalty":1.1,` + final + `}`,
		},
		{
			Request{API: Chat, Prompt: "and now?", Before: []Message{{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello"}}},
			nil,
			`{"model":"tiny","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},{"role":"user","content":"and now?"}],"temperature":0,` + final + `}`,
		},
		{
			Request{API: Chat, Before: []Message{{"user", "only this"}}},
			nil,
			`{"model":"tiny","messages":[{"role":"user","content":"only this"}],"temperature":0,` + final + `}`,
		},
		{
			Request{Prompt: "p", Extra: map[string]any{"tools": []any{}, "n": 2}},
			map[string]any{"cache_prompt": false},
			`{"model":"tiny","prompt":"p","temperature":0,` + final + `,"cache_prompt":false,"n":2,"tools":[]}`,
		},
	} {
		c.Extra = tt.extra
		if _, err := c.Stream(t.Context(), tt.r); err != nil {
			t.Fatal(err)
		}
		at := "/v1/completions Bearer k"
		if tt.r.API == Chat {
			at = "/v1/chat/completions Bearer k"
		}
		var sent, want any
		require.NoError(t, json.Unmarshal([]byte(said), &sent))
		require.NoError(t, json.Unmarshal([]byte(tt.said), &want))
		if path != at || !reflect.DeepEqual(sent, want) {
			t.Errorf("\n got %s %s\nwant %s %s", path, said, at, tt.said)
		}
	}
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	c.Extra = map[string]any{"cache_prompt": false}
	for _, tt := range []struct {
		r    Request
		says string
	}{
		{Request{API: Chat, Tokens: []int{1}}, "token IDs cannot be sent to /v1/chat/completions"},
		{Request{Before: []Message{{"user", "x"}}}, "earlier messages cannot be sent to /v1/completions"},
		{Request{Extra: map[string]any{"temperature": 1}}, `"temperature" is set by mxflow`},
		{Request{Extra: map[string]any{"min_tokens": 1}}, `"min_tokens" is set by mxflow`},
		{Request{Extra: map[string]any{"cache_prompt": true}}, `"cache_prompt"`},
		{Request{Extra: map[string]any{"messages": nil}}, `"messages"`},
		{Request{Extra: map[string]any{"n": math.NaN()}}, `cannot write the request as JSON`},
		{Request{TopP: math.Inf(1)}, `unsupported value: +Inf`},
		{Request{API: "images"}, "unknown API"},
	} {
		s, err := c.Stream(t.Context(), tt.r)
		if err == nil || !strings.Contains(err.Error(), tt.says) || s.Err != err.Error() {
			t.Errorf("%+v: %v", tt.r, err)
		}
	}
	c.Extra = map[string]any{"stream": false}
	if _, err := c.Stream(t.Context(), Request{}); err == nil || !strings.Contains(err.Error(), `"stream"`) {
		t.Errorf("the client's own fields: %v", err)
	}
}
