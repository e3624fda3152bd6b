package embedded

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestCompletion(t *testing.T) {
	url, _ := testServer(t, nil)
	for _, test := range []struct {
		name, body, text, finish string
		tokens                   int
	}{
		{"known answer", `{"prompt":"The capital of France is","max_tokens":1,"temperature":0}`, " Paris", "length", 1},
		{
			"model named", `{"model":"test","prompt":"The capital of France is","max_tokens":2,"temperature":0}`,
			" Paris,", "length", 2,
		},
		{
			"ends by itself",
			`{"prompt":"Water boils at one hundred degrees Celsius at sea level. It","max_tokens":50,"temperature":0}`,
			" freezes at zero.", "stop", 5,
		},
		{"min_tokens", `{"prompt":" freezes at zero.","max_tokens":4,"min_tokens":4,"temperature":0}`, "", "length", 4},
		{
			"ignore_eos", `{"prompt":" It freezes at zero","max_tokens":4,"ignore_eos":true,"temperature":0}`,
			".\n\nJupiter is", "length", 4,
		},
		{
			"no repetition penalty",
			`{"prompt":"The capital of France is the capital of","max_tokens":1,"temperature":0}`,
			" France", "length", 1,
		},
		{
			"repetition penalty",
			`{"prompt":"The capital of France is the capital of","max_tokens":1,"temperature":0,"repetition_penalty":2}`,
			"\n\nLight", "length", 1,
		},
		{
			"top_k is greedy", `{"prompt":"The capital of France is","max_tokens":1,"temperature":2,"top_k":1}`,
			" Paris", "length", 1,
		},
		{
			"min_p is greedy",
			`{"prompt":"The capital of France is","max_tokens":1,"temperature":2,"min_p":1,"repetition_penalty":null}`,
			" Paris", "length", 1,
		},
	} {
		e := whole(t, url+"/v1/completions", test.body)
		c := e.Choices[0]
		if test.name != "min_tokens" && *c.Text != test.text || *c.FinishReason != test.finish ||
			e.Usage.Completion != test.tokens {
			t.Errorf("%s: %q, %s, %+v; want %q, %s, %d tokens", test.name, *c.Text, *c.FinishReason, *e.Usage,
				test.text, test.finish, test.tokens)
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
	must.Do(t, json.Unmarshal([]byte(answer), &tokenized))
	if tokenized.Count != 5 || len(tokenized.Tokens) != 5 || tokenized.MaxLen != 512 {
		t.Errorf("tokenize answered %s", answer)
	}
	ids, _ := json.Marshal(tokenized.Tokens)
	e := whole(t, url+"/v1/completions", `{"prompt":`+string(ids)+`,"max_tokens":1,"temperature":0}`)
	if got := *e.Choices[0].Text; got != " Paris" || e.Usage.Prompt != 5 {
		t.Errorf("prompt %s gave %q after %d tokens", ids, got, e.Usage.Prompt)
	}
}

func TestStreamedCompletion(t *testing.T) {
	url, _ := testServer(t, nil)
	events, done := streamEvents(t, url+"/v1/completions",
		`{"prompt":"The capital of France is","max_tokens":6,"temperature":0,"stream":true,
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
	if m := e.Choices[0].Message; m.Role != "assistant" || *m.Content != "Paris, of course." ||
		*e.Choices[0].FinishReason != "stop" {
		t.Errorf("answered %+v %q", m, *m.Content)
	}
	events, done := streamEvents(t, url+"/v1/chat/completions",
		question+`,"stream":true,"stream_options":{"include_usage":true}}`)
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
		`{"messages":[{"role":"user","content":"The capital of France is"}],"temperature":0}`: "Paris.",
		`{"messages":[{"role":"user","content":"Why?"}],"temperature":0,"max_tokens":3}`:      "That is more",
	} {
		if got := *whole(t, url+"/v1/chat/completions", body).Choices[0].Message.Content; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
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
	if status, _ := post(t, url+"/start_profile", ""); status != http.StatusNotFound {
		t.Errorf("/start_profile answered %d, and nobody asked for profiles", status)
	}
	_, answer := get(t, url+"/metrics")
	for _, line := range []string{
		"generation_tokens_total 3", "request_success_total 1", "num_requests_running 0",
		"num_requests_waiting 0",
	} {
		if !strings.Contains(answer, "mxflow_embedded:"+line+"\n") {
			t.Errorf("metrics lack %q:\n%s", line, answer)
		}
	}
}

// testServer serves a loaded model; its log can be read after the test's requests are done.
func testServer(t testing.TB, change func(*Config)) (url string, log *bytes.Buffer) {
	t.Helper()
	config := testConfig()
	if change != nil {
		change(&config)
	}
	log = &bytes.Buffer{}
	s := newServer(config, log)
	must.Do(t, s.load(func(int) {}))
	web := httptest.NewServer(s.handler())
	t.Cleanup(web.Close)
	return web.URL, log
}

func post(t testing.TB, url, body string) (status int, answer string) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	must.Do(t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	must.Do(t, err)
	return response.StatusCode, string(raw)
}

func get(t testing.TB, url string) (status int, answer string) {
	t.Helper()
	response, err := http.Get(url)
	must.Do(t, err)
	defer response.Body.Close()
	raw, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(raw)
}

// event is a response as a client sees it.
type event struct {
	ID, Object, Model string
	Choices           []struct {
		Text           *string
		Message, Delta *struct {
			Role    string
			Content *string
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// streamEvents posts and parses the events; done reports whether [DONE] came.
func streamEvents(t testing.TB, url, body string) (events []event, done bool) {
	t.Helper()
	status, answer := post(t, url, body)
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, answer)
	}
	lines := bufio.NewScanner(strings.NewReader(answer))
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case lines.Text() == "":
		case !isData:
			t.Fatalf("a line is no data: %q", lines.Text())
		case data == "[DONE]":
			done = true
		default:
			var e event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("%v in %s", err, data)
			}
			events = append(events, e)
		}
	}
	return events, done
}

func whole(t testing.TB, url, body string) event {
	t.Helper()
	status, answer := post(t, url, body)
	var e event
	if err := json.Unmarshal([]byte(answer), &e); err != nil || status != http.StatusOK {
		t.Fatalf("%d %v: %s", status, err, answer)
	}
	return e
}

// textOf is the text of a whole answer, for goroutines that must not end a test.
func textOf(answer string) string {
	var e event
	if json.Unmarshal([]byte(answer), &e) != nil || len(e.Choices) != 1 || e.Choices[0].Text == nil {
		return "no text in " + answer
	}
	return *e.Choices[0].Text
}

const whatCapital = `{"messages":[{"role":"user","content":"What is the capital of France?"}],"temperature":0`

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
		{"no prompt", "/v1/completions", `{}`, 400, "empty"},
		{"empty prompt", "/v1/completions", `{"prompt":""}`, 400, "empty"},
		{"two prompts", "/v1/completions", `{"prompt":["a","b"]}`, 400, "one string"},
		{"object prompt", "/v1/completions", `{"prompt":{"a":1}}`, 400, "one string"},
		{"unknown token", "/v1/completions", `{"prompt":[1,99999]}`, 400, "99999"},
		{"negative token", "/v1/completions", `{"prompt":[-1]}`, 400, "-1"},
		{"long prompt", "/v1/completions", `{"prompt":"` + long + `"}`, 400, "maximum context length is 512"},
		{"long answer", "/v1/completions", `{"prompt":"a","max_tokens":512}`, 400, "maximum context length is 512"},
		{"no tokens", "/v1/completions", `{"prompt":"a","max_tokens":0}`, 400, "at least 1"},
		{"n", "/v1/completions", `{"prompt":"a","n":2}`, 400, "one answer per request"},
		{"echo", "/v1/completions", `{"prompt":"a","echo":true}`, 400, "echo"},
		{"logprobs", "/v1/completions", `{"prompt":"a","logprobs":21}`, 400, "0 to 20 tokens"},
		{
			"logprobs of a completion", "/v1/completions", `{"prompt":"a","logprobs":true}`, 400,
			"logprobs of a completion",
		},
		{
			"logprobs of a chat", "/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"logprobs":3}`,
			400,
			"logprobs of a chat",
		},
		{
			"prompt_logprobs", "/v1/completions", `{"prompt":"a","prompt_logprobs":1,"stream":true}`, 400,
			"not available in streams",
		},
		{"temperature", "/v1/completions", `{"prompt":"a","temperature":-1}`, 400, "temperature"},
		{"top_p", "/v1/completions", `{"prompt":"a","top_p":0}`, 400, "top_p"},
		{"top_k", "/v1/completions", `{"prompt":"a","top_k":-2}`, 400, "top_k"},
		{"min_p", "/v1/completions", `{"prompt":"a","min_p":1.5}`, 400, "min_p"},
		{
			"repetition_penalty", "/v1/completions", `{"prompt":"a","repetition_penalty":0}`, 400,
			"repetition_penalty must be",
		},
		{"min_tokens", "/v1/completions", `{"prompt":"a","max_tokens":2,"min_tokens":3}`, 400, "min_tokens"},
		{"stop type", "/v1/completions", `{"prompt":"a","stop":7}`, 400, "stop"},
		{"unknown model", "/v1/completions", `{"model":"gpt","prompt":"a"}`, 404, "does not exist"},
		{"no messages", "/v1/chat/completions", `{"messages":[]}`, 400, "no messages"},
		{"unknown role", "/v1/chat/completions", `{"messages":[{"role":"wizard","content":"a"}]}`, 400, "wizard"},
		{
			"picture", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`,
			400, "content",
		},
		{"tokenize nothing", "/tokenize", `{}`, 400, "no prompt"},
	} {
		status, answer := post(t, url+test.path, test.body)
		var body struct {
			Error struct {
				Message, Type string
				Code          int
			}
		}
		if err := json.Unmarshal([]byte(answer), &body); err != nil || status != test.status ||
			body.Error.Code != test.status ||
			body.Error.Type == "" || !strings.Contains(body.Error.Message, test.says) {
			t.Errorf("%s: %d %s; want %d and %q", test.name, status, answer, test.status, test.says)
		}
	}
	if n := strings.Count(log.String(), " failed: "); n != 28 {
		t.Errorf("%d failures in the log, want 28:\n%s", n, log)
	}
}

// openStream starts a long stream and reads a number of events.
func openStream(t *testing.T, ctx context.Context, url string, read int) io.Closer {
	t.Helper()
	body := strings.NewReader(
		`{"prompt":"The capital of France is","max_tokens":60000,"ignore_eos":true,"temperature":0,"stream":true}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/completions", body)
	must.Do(t, err)
	response, err := http.DefaultClient.Do(request)
	must.Do(t, err)
	lines := bufio.NewScanner(response.Body)
	for seen := 0; seen < read && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			seen++
		}
	}
	return response.Body
}

func wide(c *Config) { c.MaxModelLen = 65536 }

// With one place, the second request can only be answered because the first client left.
func TestDisconnectFreesThePlace(t *testing.T) {
	for _, fault := range []string{"", "stall_after:3"} {
		p := start(t, fault, func(c *Config) { wide(c); c.MaxNumSeqs = 1 })
		p.ready(t)
		ctx, leave := context.WithCancel(context.Background())
		body := openStream(t, ctx, p.url, 3)
		leave()
		body.Close()
		if fault == "" {
			post(t, p.url+"/v1/completions", paris)
		} else {
			for { // stalled requests end too, once their client leaves
				if _, answer := get(t, p.url+"/metrics"); strings.Contains(answer,
					"mxflow_embedded:num_requests_running 0\n") {
					break
				}
			}
		}
		if log := p.wait(t); !strings.Contains(log, "aborted") {
			t.Errorf("%s: the log does not tell of the abort:\n%s", fault, log)
		}
	}
}

// Beside a running request others are answered. A stop ends it, and does not wait for it.
func TestStopDuringAStream(t *testing.T) {
	p := start(t, "", func(c *Config) { wide(c); c.MaxNumSeqs = 2 })
	p.ready(t)
	body := openStream(t, context.Background(), p.url, 2)
	defer body.Close()
	if _, answer := post(t, p.url+"/v1/completions", paris); !strings.Contains(answer, "Paris") {
		t.Errorf("beside a running request: %s", answer)
	}
	if log := p.wait(t); !strings.Contains(log, "stopped") {
		t.Errorf("the log does not tell:\n%s", log)
	}
}

func TestLogNamesTheKernels(t *testing.T) {
	for _, test := range []struct {
		name           string
		change         func(*Config)
		engaged, never []string
	}{
		{
			"defaults", nil,
			[]string{kernelPrefillCached, kernelDecodeCached, kernelMoERouted, kernelHeadF32, kernelSoftmaxSinks},
			[]string{
				kernelRecompute, kernelMoEAll, kernelSoftmaxNoSinks,
				kernelPrefixLookup, kernelPrefixReuse, kernelPromptLookup, kernelVerify,
			},
		},
		{
			"prefix cache and speculation", func(c *Config) { c.PrefixCache, c.Speculation = true, 2 },
			[]string{kernelPrefixLookup, kernelPromptLookup, kernelVerify, kernelDecodeCached},
			[]string{kernelPrefixReuse}, // there was nothing to reuse
		},
		{
			"the others", func(c *Config) { c.KVCache, c.MoERouted, c.Sinks = false, false, false },
			[]string{kernelRecompute, kernelMoEAll, kernelSoftmaxNoSinks},
			[]string{kernelPrefillCached, kernelDecodeCached, kernelMoERouted, kernelSoftmaxSinks},
		},
	} {
		p := start(t, "", test.change)
		p.ready(t)
		post(t, p.url+"/v1/completions", paris)
		log := p.wait(t)
		for _, kernel := range test.engaged {
			if n := strings.Count(log, "using kernel "+kernel+" ("); n != 1 {
				t.Errorf("%s: %d lines say that %s is used, want 1:\n%s", test.name, n, kernel, log)
			}
		}
		for _, kernel := range test.never {
			if strings.Contains(log, kernel) {
				t.Errorf("%s: the log names %s:\n%s", test.name, kernel, log)
			}
		}
	}
}

func TestFaultyAnswers(t *testing.T) {
	for fault, check := range map[string]func(status int, answer string) bool{
		"nan": func(status int, answer string) bool {
			return status == 200 && strings.Contains(answer, `"!!!!!!!!"`)
		},
		"garbage": func(status int, answer string) bool { return status == 200 && !strings.Contains(answer, "Paris") },
		"http_500": func(status int, answer string) bool {
			return status == 500 && strings.Contains(answer, `"error"`)
		},
		"malformed": func(status int, answer string) bool {
			return status == 200 && !strings.Contains(answer, "finish_reason")
		},
	} {
		p := start(t, fault, nil)
		p.ready(t)
		if status, answer := post(t, p.url+"/v1/completions", paris); !check(status, answer) {
			t.Errorf("%s: %d %s", fault, status, answer)
		}
		_, page := get(t, p.url+"/metrics")
		_, stream := post(t, p.url+"/v1/completions", `{"prompt":"The","max_tokens":3,"stream":true}`)
		first, _, _ := strings.Cut(stream, "\n")
		if cut := strings.HasPrefix(first, "data: {") && !strings.HasSuffix(first, "}"); cut != (fault == "malformed") {
			t.Errorf("%s: the first event is %q", fault, first)
		}
		counted := strings.Contains(page, "mxflow_embedded:corrupted_requests_total 1\n")
		if told := strings.Contains(p.wait(t), "NaN in logits"); counted != (fault == "nan") ||
			told != (fault == "nan") {
			t.Errorf("%s: counted %v, logged %v", fault, counted, told)
		}
	}
}

func TestServeNeedsItsPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer listener.Close()
	config := testConfig()
	config.Host, config.Port = "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
	var refused *net.OpError
	if err := serve(context.Background(), config, io.Discard, nil, nil); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

// process is serve running in a goroutine, in place of a child process.
type process struct {
	url    string
	stop   context.CancelFunc
	log    *bytes.Buffer // to be read after wait
	exits  chan int
	result chan error
}

func start(t testing.TB, fault string, change func(*Config)) *process {
	t.Helper()
	config := testConfig()
	config.Host = "127.0.0.1"
	must.Do(t, config.readFaults(fault))
	if change != nil {
		change(&config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{stop: cancel, log: &bytes.Buffer{}, exits: make(chan int, 8), result: make(chan error, 1)}
	address := make(chan net.Addr, 1)
	go func() {
		p.result <- serve(ctx, config, p.log, func(code int) { p.exits <- code }, func(a net.Addr) { address <- a })
	}()
	p.url = "http://" + (<-address).String()
	t.Cleanup(cancel)
	return p
}

// ready polls /health; every poll is a round trip, so it need not sleep.
func (p *process) ready(t testing.TB) {
	t.Helper()
	for {
		if status, _ := get(t, p.url+"/health"); status == http.StatusOK {
			return
		}
	}
}

// wait stops the process and returns its log.
func (p *process) wait(t testing.TB) string {
	t.Helper()
	p.stop()
	if err := <-p.result; err != nil {
		t.Errorf("serve ended with %v", err)
	}
	return p.log.String()
}

const paris = `{"prompt":"The capital of France is","max_tokens":8,"temperature":0}`
