package embedded

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBadRequests(t *testing.T) {
	url, log := testServer(t, nil)
	long := strings.Repeat("the ", 600)
	for _, test := range []struct {
		name, path, body string
		status           int
		says             string
	}{
		{"no JSON", "/v1/completions", `{"prompt":`, 400, "JSON"},
		{"wrong type", "/v1/completions", `{"prompt":"a","max_tokens":"ten"}`, 400, "max_tokens"},
		{"no prompt", "/v1/completions", `{}`, 400, "no prompt"},
		{"empty prompt", "/v1/completions", `{"prompt":""}`, 400, "empty"},
		{"two prompts", "/v1/completions", `{"prompt":["a","b"]}`, 400, "one string"},
		{"object prompt", "/v1/completions", `{"prompt":{"a":1}}`, 400, "one string"},
		{"unknown token", "/v1/completions", `{"prompt":[1,99999]}`, 400, "99999"},
		{"negative token", "/v1/completions", `{"prompt":[-1]}`, 400, "-1"},
		{"long prompt", "/v1/completions", `{"prompt":"` + long + `"}`, 400, "maximum context length is 512"},
		{"long answer", "/v1/completions", `{"prompt":"a","max_tokens":512}`, 400, "maximum context length is 512"},
		{"no tokens", "/v1/completions", `{"prompt":"a","max_tokens":0}`, 400, "at least 1"},
		{"n", "/v1/completions", `{"prompt":"a","n":2}`, 400, "n and best_of"},
		{"echo", "/v1/completions", `{"prompt":"a","echo":true}`, 400, "echo"},
		{"logprobs", "/v1/completions", `{"prompt":"a","logprobs":1}`, 400, "logprobs"},
		{"temperature", "/v1/completions", `{"prompt":"a","temperature":-1}`, 400, "temperature"},
		{"top_p", "/v1/completions", `{"prompt":"a","top_p":0}`, 400, "top_p"},
		{"top_k", "/v1/completions", `{"prompt":"a","top_k":-2}`, 400, "top_k must be"},
		{"min_p", "/v1/completions", `{"prompt":"a","min_p":1.5}`, 400, "min_p must be"},
		{"repetition_penalty", "/v1/completions", `{"prompt":"a","repetition_penalty":0}`, 400, "repetition_penalty must be"},
		{"min_tokens", "/v1/completions", `{"prompt":"a","max_tokens":2,"min_tokens":3}`, 400, "min_tokens"},
		{"empty stop", "/v1/completions", `{"prompt":"a","stop":""}`, 400, "stop"},
		{"stop type", "/v1/completions", `{"prompt":"a","stop":7}`, 400, "stop must be"},
		{"stream_options", "/v1/completions", `{"prompt":"a","stream_options":{"include_usage":true}}`, 400, "stream_options"},
		{"unknown model", "/v1/completions", `{"model":"gpt","prompt":"a"}`, 404, "does not exist"},
		{"no messages", "/v1/chat/completions", `{"messages":[]}`, 400, "no messages"},
		{"unknown role", "/v1/chat/completions", `{"messages":[{"role":"wizard","content":"a"}]}`, 400, "wizard"},
		{"picture", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "image_url"},
		{"tokenize nothing", "/tokenize", `{}`, 400, "neither"},
		{"detokenize unknown", "/detokenize", `{"tokens":[99999]}`, 400, "99999"},
	} {
		status, answer := post(t, url+test.path, test.body)
		var body struct {
			Error struct {
				Message, Type string
				Code          int
			}
		}
		if err := json.Unmarshal([]byte(answer), &body); err != nil || status != test.status || body.Error.Code != test.status ||
			body.Error.Type == "" || !strings.Contains(body.Error.Message, test.says) {
			t.Errorf("%s: %d %s; want %d and %q", test.name, status, answer, test.status, test.says)
		}
	}
	if n := strings.Count(log.String(), " failed: "); n != 27 {
		t.Errorf("%d failures in the log, want 27:\n%s", n, log)
	}
}
