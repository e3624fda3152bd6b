package openai

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func answers(byPath map[string]string) http.HandlerFunc {
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
	c := serve(t, answers(map[string]string{
		"GET /v1/models":   `{"data":[{"id":"gpt-oss","max_model_len":4096},{"id":"other"}]}`,
		"GET /version":     `{"version":"0.21.0"}`,
		"GET /health":      ``,
		"POST /tokenize":   `{"count":3,"tokens":[5,6,7],"max_model_len":4096}`,
		"POST /detokenize": `{"prompt":"a b c"}`,
	}))
	models, err := c.Models(t.Context())
	if err != nil || !slices.Equal(models, []Model{{"gpt-oss", 4096}, {"other", 0}}) {
		t.Errorf("models %v, %v", models, err)
	}
	if v, err := c.Version(t.Context()); err != nil || v != "0.21.0" {
		t.Errorf("version %q, %v", v, err)
	}
	if status, err := c.Health(t.Context()); err != nil || status != 200 {
		t.Errorf("health %d, %v", status, err)
	}
	if n, ids, err := c.Tokenize(t.Context(), "a b c"); err != nil || n != 3 || !slices.Equal(ids, []int{5, 6, 7}) {
		t.Errorf("tokenize %d %v, %v", n, ids, err)
	}
	if text, err := c.Detokenize(t.Context(), []int{5, 6, 7}); err != nil || text != "a b c" {
		t.Errorf("detokenize %q, %v", text, err)
	}
}

func TestCallsThatFail(t *testing.T) {
	none := serve(t, answers(nil))
	var status *StatusError
	if _, err := none.Models(t.Context()); !errors.As(err, &status) || status.Status != 404 {
		t.Errorf("models: %v", err)
	}
	if _, err := none.Version(t.Context()); !errors.As(err, &status) {
		t.Errorf("version: %v", err)
	}
	if _, _, err := none.Tokenize(t.Context(), "x"); !errors.As(err, &status) {
		t.Errorf("tokenize: %v", err)
	}
	if got, err := none.Health(t.Context()); err != nil || got != 404 {
		t.Errorf("health: %d, %v", got, err)
	}
	odd := serve(t, answers(map[string]string{
		"GET /v1/models":   `{"data":[]}`,
		"GET /version":     `<html>`,
		"POST /tokenize":   `{"tokens":[]}`,
		"POST /detokenize": `{}`,
	}))
	if _, err := odd.Models(t.Context()); err == nil {
		t.Error("an empty list of models is no answer")
	}
	if _, err := odd.Version(t.Context()); err == nil || !strings.Contains(err.Error(), "<html>") {
		t.Errorf("version: %v", err)
	}
	if _, _, err := odd.Tokenize(t.Context(), "x"); err == nil {
		t.Error("no tokens for some text")
	}
	if n, _, err := odd.Tokenize(t.Context(), ""); err != nil || n != 0 {
		t.Errorf("no tokens for no text: %d, %v", n, err)
	}
	if _, err := odd.Detokenize(t.Context(), nil); err == nil {
		t.Error("detokenize without a text")
	}
	contradiction := serve(t, answers(map[string]string{"POST /tokenize": `{"count":2,"tokens":[1]}`}))
	if _, _, err := contradiction.Tokenize(t.Context(), "x"); err == nil {
		t.Error("two counts, both believed")
	}
}

// Without a name, the engine's first model is asked for, and listed only once.
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
