package embedded

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	url, _ := testServer(t, nil)
	for _, test := range []struct {
		name, body, text, finish string
		tokens                   int
	}{
		{"known answer", `{"prompt":"The capital of France is","max_tokens":1,"temperature":0}`, " Paris", "length", 1},
		{"model named", `{"model":"test","prompt":"The capital of France is","max_tokens":2,"temperature":0}`, " Paris,", "length", 2},
		{"ends by itself", `{"prompt":"Water boils at one hundred degrees Celsius at sea level. It","max_tokens":50,"temperature":0}`, " freezes at zero.", "stop", 5},
		{"min_tokens", `{"prompt":" freezes at zero.","max_tokens":4,"min_tokens":4,"temperature":0}`, "", "length", 4},
		{"ignore_eos", `{"prompt":" It freezes at zero","max_tokens":4,"ignore_eos":true,"temperature":0}`, ".\n\nJupiter is", "length", 4},
		{"stop string", `{"prompt":"The capital of France is","max_tokens":50,"temperature":0,"stop":"river"}`, " Paris, and its ", "stop", 5},
		{"stop list", `{"prompt":"The capital of France is","max_tokens":50,"temperature":0,"stop":["zz"," its"]}`, " Paris, and", "stop", 4},
		{"no repetition penalty", `{"prompt":"The capital of France is the capital of","max_tokens":1,"temperature":0}`, " France", "length", 1},
		{"top_k is greedy", `{"prompt":"The capital of France is","max_tokens":1,"temperature":2,"top_k":1}`, " Paris", "length", 1},
		{"min_p is greedy", `{"prompt":"The capital of France is","max_tokens":1,"temperature":2,"min_p":1,"repetition_penalty":null}`, " Paris", "length", 1},
		{"prompt in a list", `{"prompt":["The capital of France is"],"max_tokens":1,"temperature":0}`, " Paris", "length", 1},
	} {
		e := whole(t, url+"/v1/completions", test.body)
		c := e.Choices[0]
		if test.name != "min_tokens" && *c.Text != test.text || *c.FinishReason != test.finish || e.Usage.Completion != test.tokens {
			t.Errorf("%s: %q, %s, %+v; want %q, %s, %d tokens", test.name, *c.Text, *c.FinishReason, *e.Usage, test.text, test.finish, test.tokens)
		}
		if e.Usage.Total != e.Usage.Prompt+e.Usage.Completion || e.Object != "text_completion" || e.Model != "test" {
			t.Errorf("%s: %+v", test.name, e)
		}
	}
}

func TestTokenIDsAsPrompt(t *testing.T) {
	url, _ := testServer(t, nil)
	_, answer := post(t, url+"/tokenize", `{"prompt":"The capital of France is"}`)
	var tokenized struct {
		Count  int
		Tokens []token
		MaxLen int `json:"max_model_len"`
	}
	if err := json.Unmarshal([]byte(answer), &tokenized); err != nil {
		t.Fatal(err)
	}
	if tokenized.Count != 5 || len(tokenized.Tokens) != 5 || tokenized.MaxLen != 512 {
		t.Errorf("tokenize answered %s", answer)
	}
	ids, _ := json.Marshal(tokenized.Tokens)
	for _, prompt := range []string{string(ids), "[" + string(ids) + "]"} {
		e := whole(t, url+"/v1/completions", `{"prompt":`+prompt+`,"max_tokens":1,"temperature":0}`)
		if got := *e.Choices[0].Text; got != " Paris" || e.Usage.Prompt != 5 {
			t.Errorf("prompt %s gave %q after %d tokens", prompt, got, e.Usage.Prompt)
		}
	}
	if _, answer = post(t, url+"/detokenize", `{"tokens":`+string(ids)+`}`); answer != `{"prompt":"The capital of France is"}`+"\n" {
		t.Errorf("detokenize answered %s", answer)
	}
}

func TestStreamedCompletion(t *testing.T) {
	url, _ := testServer(t, nil)
	events, done := streamEvents(t, url+"/v1/completions", `{"prompt":"The capital of France is","max_tokens":6,"temperature":0,"stream":true,
		"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`)
	if len(events) != 7 || !done {
		t.Fatalf("%d events, done %v; want one a token and one with the usage", len(events), done)
	}
	var text strings.Builder
	for i, e := range events[:6] {
		text.WriteString(*e.Choices[0].Text)
		if e.Usage == nil || e.Usage.Completion != i+1 || e.Usage.Prompt != 5 {
			t.Errorf("event %d has usage %+v", i, e.Usage)
		}
		if finished := e.Choices[0].FinishReason != nil; finished != (i == 5) {
			t.Errorf("event %d: finished %v", i, finished)
		}
	}
	if text.String() != " Paris, and its river is" {
		t.Errorf("streamed %q", text.String())
	}
	if last := events[6]; len(last.Choices) != 0 || last.Usage == nil || last.Usage.Completion != 6 {
		t.Errorf("the usage event is %+v", last)
	}
	events, _ = streamEvents(t, url+"/v1/completions", `{"prompt":"The","max_tokens":2,"stream":true}`)
	if len(events) != 2 || events[1].Usage != nil {
		t.Errorf("without stream_options: %d events, usage %v", len(events), events[1].Usage)
	}
}

func TestChat(t *testing.T) {
	url, _ := testServer(t, nil)
	question := `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What is the capital of France?"}],"temperature":0`
	e := whole(t, url+"/v1/chat/completions", question+`}`)
	if m := e.Choices[0].Message; m.Role != "assistant" || *m.Content != "Paris, of course." || *e.Choices[0].FinishReason != "stop" {
		t.Errorf("answered %+v %q", m, *m.Content)
	}
	events, done := streamEvents(t, url+"/v1/chat/completions", question+`,"stream":true,"stream_options":{"include_usage":true}}`)
	if !done || events[0].Choices[0].Delta.Role != "assistant" || *events[0].Choices[0].Delta.Content != "" {
		t.Fatalf("the stream does not open with the role: %+v", events[0])
	}
	var text strings.Builder
	for _, e := range events[1 : len(events)-1] {
		text.WriteString(*e.Choices[0].Delta.Content)
	}
	if text.String() != "Paris, of course." || events[1].Object != "chat.completion.chunk" {
		t.Errorf("streamed %q as %s", text.String(), events[1].Object)
	}
	for body, want := range map[string]string{
		`{"messages":[{"role":"user","content":[{"type":"text","text":"The capital of France is"}]}],"temperature":0}`: "Paris.",
		`{"messages":[{"role":"user","content":"Why?"}],"temperature":0,"max_tokens":3}`:                               "That is more",
	} {
		if got := *whole(t, url+"/v1/chat/completions", body).Choices[0].Message.Content; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestRepetitionPenaltyIsHeeded(t *testing.T) {
	url, _ := testServer(t, nil)
	got := *whole(t, url+"/v1/completions", `{"prompt":"The capital of France is the capital of","max_tokens":1,"temperature":0,"repetition_penalty":2}`).Choices[0].Text
	if got == " France" {
		t.Error("the token that stands in the prompt is still the likeliest")
	}
}

func TestSeedDecidesTheSample(t *testing.T) {
	url, _ := testServer(t, nil)
	ask := func(seed string) string {
		return *whole(t, url+"/v1/completions", `{"prompt":"Qq","max_tokens":12,"temperature":2,"seed":`+seed+`}`).Choices[0].Text
	}
	first, again, other := ask("1"), ask("1"), ask("2")
	if first != again {
		t.Errorf("one seed gave %q and %q", first, again)
	}
	if first == other {
		t.Errorf("two seeds gave %q", first)
	}
}

func TestInformation(t *testing.T) {
	url, _ := testServer(t, nil)
	post(t, url+"/v1/completions", `{"prompt":"The capital of France is","max_tokens":3}`)
	for path, says := range map[string]string{
		"/health":    "",
		"/version":   `{"version":"` + Version + `"}`,
		"/v1/models": `"max_model_len":512`,
		"/metrics":   "\nmxflow_embedded:prompt_tokens_total 5\n",
	} {
		status, answer := get(t, url+path)
		if status != http.StatusOK || !strings.Contains(answer, says) {
			t.Errorf("%s: %d %q, want %q", path, status, answer, says)
		}
	}
	_, answer := get(t, url+"/metrics")
	for _, line := range []string{"generation_tokens_total 3", "request_success_total 1", "num_requests_running 0", "num_requests_waiting 0"} {
		if !strings.Contains(answer, "mxflow_embedded:"+line+"\n") {
			t.Errorf("metrics lack %q:\n%s", line, answer)
		}
	}
}
