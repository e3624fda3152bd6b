package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// An engine that counts on a page of its own, in its own words.
func TestTokenizeElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want int
		fail string
	}{
		"a length":        {`{"length":3,"tokens":[1,2,3]}`, 3, ""},
		"other tokens":    {`{"length":2,"tokens":[[1,"a"],[2,"b"]]}`, 2, ""},
		"nothing counted": {`{"length":0}`, 0, "no tokens for a text"},
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
