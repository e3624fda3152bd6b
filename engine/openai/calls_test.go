package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
	odd := serve(t, pages(map[string]string{
		"GET /v1/models": `{"data":[]}`,
		"POST /tokenize": `{"tokens":[]}`,
	}))
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

// A server that accepts a connection and says nothing does not block a caller without its
// own limit.
func TestCallsOfASilentServerEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New("http://engine.test", "")
		c.HTTP = &http.Client{Transport: silent{}}
		began := time.Now()
		if _, err := c.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer within 1m0s") {
			t.Errorf("models: %v", err)
		}
		c.Model = "m"
		if _, _, err := c.Tokenize(t.Context(), "a text"); err == nil || !strings.Contains(err.Error(), "POST /tokenize: no answer within") {
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
		if _, err := c.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "a name ") || strings.ContainsAny(err.Error(), "\x1b\x00\n") || len(err.Error()) > 1000 {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// A count larger than any vocabulary allows would make prompts grow without end.
func TestTokenizeCountsThatCannotBe(t *testing.T) {
	for _, count := range []string{`-5`, `1000000000000000`, `5000`} {
		c := serve(t, pages(map[string]string{"GET /v1/models": `{"data":[{"id":"m"}]}`, "POST /tokenize": `{"count":` + count + `}`}))
		if n, _, err := c.Tokenize(t.Context(), "a b c"); err == nil || !strings.Contains(err.Error(), count+" tokens for a text of 5 bytes") {
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
		client.Tokenizer = Tokenizer{Path: "/v1/token/encode", Field: "text", Count: func(_ context.Context, answer any) (int, error) {
			object, _ := answer.(map[string]any)
			n, ok := object["length"].(float64)
			if !ok {
				return 0, errors.New("there is none")
			}
			return int(n), nil
		}}
		n, _, err := client.Tokenize(t.Context(), "a b c")
		if n != c.want || (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if !strings.Contains(asked, `"text":"a b c"`) {
			t.Errorf("%s: asked %s", name, asked)
		}
	}
}
