package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func pages(byPath map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		said, ok := byPath[r.Method+" "+r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, said)
	}
}

func TestCalls(t *testing.T) {
	c := serve(t, pages(map[string]string{
		"GET /v1/models": `{"data":[{"id":"gpt-oss","max_model_len":4096},{"id":"other"}]}`,
		"POST /tokenize": `{"count":3,"tokens":[5,6,7],"max_model_len":4096}`,
	}))
	models, err := c.Models(t.Context())
	if err != nil || !slices.Equal(models, []Model{{"gpt-oss", 4096}, {"other", 0}}) {
		t.Errorf("models %v, %v", models, err)
	}
	if n, ids, err := c.Tokenize(t.Context(), "a b c"); err != nil || n != 3 || !slices.Equal(ids, []int{5, 6, 7}) {
		t.Errorf("tokenize %d %v, %v", n, ids, err)
	}
}

func TestCallsThatFail(t *testing.T) {
	none := serve(t, pages(nil))
	var status *StatusError
	if _, err := none.Models(t.Context()); !errors.As(err, &status) || status.Status != 404 {
		t.Errorf("models: %v", err)
	}
	if _, _, err := none.Tokenize(t.Context(), "x"); !errors.As(err, &status) {
		t.Errorf("tokenize: %v", err)
	}
	for _, said := range []string{`data: {"choices":[{"text":" the"}]}`, `{"error":"unknown path"}`, `[]`} {
		alike := serve(t, pages(map[string]string{"GET /v1/models": `{"data":[{"id":"m"}]}`, "POST /tokenize": said}))
		if _, _, err := alike.Tokenize(t.Context(), "x"); !errors.As(err, &status) || status.Status != 404 {
			t.Errorf("a page that is no tokenizer (%s): %v", said, err)
		}
	}
	long := serve(t, pages(map[string]string{"GET /v1/models": strings.Repeat(" ", maxAnswer) + "{}"}))
	if _, err := long.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("an answer without an end in sight: %v", err)
	}
	odd := serve(t, pages(map[string]string{"GET /v1/models": `{"data":[]}`, "POST /tokenize": `{"tokens":[]}`}))
	if _, err := odd.Models(t.Context()); err == nil {
		t.Error("an empty list of models is no answer")
	}
	if _, _, err := odd.Tokenize(t.Context(), "x"); err == nil {
		t.Error("no tokens for some text")
	}
	if n, _, err := odd.Tokenize(t.Context(), ""); err != nil || n != 0 {
		t.Errorf("no tokens for no text: %d, %v", n, err)
	}
	contradiction := serve(t, pages(map[string]string{"POST /tokenize": `{"count":2,"tokens":[1]}`}))
	if _, _, err := contradiction.Tokenize(t.Context(), "x"); err == nil {
		t.Error("two counts, both believed")
	}
}

// Without a name, the engine's first model is requested, and models are listed only once.
func TestModelFromEngine(t *testing.T) {
	listed, asked := 0, []string{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			listed++
			_, _ = io.WriteString(w, `{"data":[{"id":"found"}]}`)
			return
		}
		var b struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&b)
		asked = append(asked, b.Model)
		script(completion("a", ""), end)(w, r)
	})
	c.Model = ""
	for range 2 {
		if _, err := c.Stream(t.Context(), Request{Prompt: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if listed != 1 || !slices.Equal(asked, []string{"found", "found"}) {
		t.Errorf("listed %d times, asked for %q", listed, asked)
	}
}

func TestNew(t *testing.T) {
	for _, base := range []string{"http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"} {
		if c := New(base, ""); c.BaseURL != "http://h:1" {
			t.Errorf("New(%q) talks to %q", base, c.BaseURL)
		}
	}
}

// silent never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A server that accepts a connection and says nothing does not block a caller without its own limit.
func TestCallsOfASilentServerEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New("http://engine.test", "")
		c.HTTP = &http.Client{Transport: silent{}}
		began := time.Now()
		if _, err := c.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer within 1m0s") {
			t.Errorf("models: %v", err)
		}
		c.Model = "m"
		if _, _, err := c.Tokenize(t.Context(), "a text"); err == nil ||
			!strings.Contains(err.Error(), "POST /tokenize: no answer within") {
			t.Errorf("tokenize: %v", err)
		}
		if took := time.Since(began); took > pageLimit+countLimit {
			t.Errorf("gave up after %v", took)
		}
	})
}

// Names are shown on terminals and in tables.
func TestNamesThatAreNone(t *testing.T) {
	for _, name := range []string{`\u001b[31mred`, `a\u0000b`, `two\nlines`, strings.Repeat("x", maxName+1)} {
		c := serve(t, pages(map[string]string{"GET /v1/models": `{"data":[{"id":"fine"},{"id":"` + name + `"}]}`}))
		if _, err := c.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "a name ") ||
			strings.ContainsAny(err.Error(), "\x1b\x00\n") || len(err.Error()) > 1000 {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// A count larger than any vocabulary allows would make prompts grow without end.
func TestTokenizeCountsThatCannotBe(t *testing.T) {
	for _, count := range []string{`-5`, `1000000000000000`, `5000`} {
		c := serve(t,
			pages(map[string]string{
				"GET /v1/models": `{"data":[{"id":"m"}]}`,
				"POST /tokenize": `{"count":` + count + `}`,
			}))
		if n, _, err := c.Tokenize(t.Context(), "a b c"); err == nil ||
			!strings.Contains(err.Error(), count+" tokens for a text of 5 bytes") {
			t.Errorf("%s: %d, %v", count, n, err)
		}
	}
}

// An engine that counts on its own page, with its own names.
func TestTokenizeElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want int
		fail string
	}{
		"a length":        {`{"length":3,"tokens":[1,2,3]}`, 3, ""},
		"other tokens":    {`{"length":2,"tokens":[[1,"a"],[2,"b"]]}`, 2, ""},
		"nothing counted": {`{"length":0}`, 0, "no tokens for a non-empty text"},
		"no length":       {`{"tokens":[1]}`, 0, "there is none"},
		"no JSON":         {`<html>`, 0, "<html>"},
	} {
		asked := ""
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/token/encode" {
				http.NotFound(w, r)
				return
			}
			body, _ := io.ReadAll(r.Body)
			asked = string(body)
			_, _ = w.Write([]byte(c.page))
		})
		client.Tokenizer = Tokenizer{
			Path: "/v1/token/encode", Field: "text",
			Count: func(_ context.Context, answer any) (int, error) {
				object, _ := answer.(map[string]any)
				n, ok := object["length"].(float64)
				if !ok {
					return 0, errors.New("there is none")
				}
				return int(n), nil
			},
		}
		n, _, err := client.Tokenize(t.Context(), "a b c")
		if n != c.want || (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if !strings.Contains(asked, `"text":"a b c"`) {
			t.Errorf("%s: asked %s", name, asked)
		}
	}
}

func TestStatusError(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"prompt too long"}`+"\x1b[31m"+strings.Repeat(" more", 1000), http.StatusBadRequest)
	})
	_, err := c.Stream(t.Context(), Request{Prompt: "x"})
	var status *StatusError
	if !errors.As(err, &status) || status.Status != 400 || !strings.HasPrefix(status.Body,
		`{"error":"prompt too long"}`) || len(status.Body) > maxStatusBody+8 || strings.Contains(status.Body, "\x1b") {
		t.Fatalf("error %v", err)
	}
	if usage := c.usage.Load(); usage != 0 {
		t.Errorf("an unrelated refusal lowered the usage mode to %v", usage)
	}
}

// A redirect is not followed, neither by a stream nor by a call, and the error says where it points.
func TestRedirect(t *testing.T) {
	asked := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "https://elsewhere.example/v1", http.StatusTemporaryRedirect)
	})
	_, err := c.Stream(t.Context(), Request{Prompt: "x"})
	_, callErr := c.Models(t.Context())
	for _, err := range []error{err, callErr} {
		var status *StatusError
		if !errors.As(err, &status) || status.Status != 307 ||
			!strings.HasPrefix(status.Location, "https://elsewhere.example/v1") {
			t.Fatalf("redirect gave %v", err)
		}
		if !strings.Contains(err.Error(), `a redirect to "https://elsewhere.example/v1`) {
			t.Errorf("message %q", err)
		}
	}
	if asked != 2 {
		t.Errorf("%d requests", asked)
	}
}

func TestRetryAfter(t *testing.T) {
	for after, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, " 3 ": 3 * time.Second, "0": minRetryAfter, "600": maxRetryAfter,
		"601":                        maxRetryAfter,
		"99999999999999999999999999": maxRetryAfter, "-1": 0, "1.5": 0, "soon": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {after}}); got != want {
			t.Errorf("%q: %v, want %v", after, got, want)
		}
	}

	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2")
		http.Error(w, "busy", http.StatusTooManyRequests)
	})
	s, err := c.Stream(t.Context(), Request{Prompt: "x"})
	var status *StatusError
	if s.Status != http.StatusTooManyRequests || s.Err == "" {
		t.Errorf("sample %+v", s)
	}
	if !errors.As(err, &status) || status.RetryAfter != 2*time.Second ||
		!strings.Contains(err.Error(), "try again in 2s") {
		t.Errorf("error %v", err)
	}
}

func TestCallThatWasCompressed(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("Accept-Encoding: %q", got)
		}
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "\x01\x02")
	})
	var broken *StreamError
	if _, err := c.Models(t.Context()); !errors.As(err, &broken) || broken.Kind != Compressed ||
		!strings.Contains(err.Error(), `"br"`) {
		t.Errorf("error %v", err)
	}
}

// A limit of this machine is reported as one.
func TestTooManyOpenFiles(t *testing.T) {
	if said := hint(errors.New("dial tcp: socket: too many open files")); !strings.Contains(said, "ulimit -n") {
		t.Errorf("hint %q", said)
	}
}

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
			Request{
				API: Chat, Prompt: "and now?",
				Before: []Message{{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello"}},
			},
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
		must.Do(t, json.Unmarshal([]byte(said), &sent))
		must.Do(t, json.Unmarshal([]byte(tt.said), &want))
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
