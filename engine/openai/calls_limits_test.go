package openai

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// silent never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A server that accepts a connection and says nothing does not hold a caller
// that has no limit of its own.
func TestCallsOfASilentServerEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New("http://engine.test", "")
		c.HTTP = &http.Client{Transport: silent{}}
		began := time.Now()
		if _, err := c.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer within 1m0s") {
			t.Errorf("models: %v", err)
		}
		if _, err := c.Health(t.Context()); err == nil {
			t.Error("health is well")
		}
		c.Model = "m"
		if _, _, err := c.Tokenize(t.Context(), "a text"); err == nil || !strings.Contains(err.Error(), "POST /tokenize: no answer within") {
			t.Errorf("tokenize: %v", err)
		}
		if took := time.Since(began); took > 2*pageLimit+countLimit {
			t.Errorf("gave up after %v", took)
		}
	})
}

// Names are shown on terminals and stand in tables.
func TestNamesThatAreNone(t *testing.T) {
	for _, name := range []string{`\u001b[31mred`, `a\u0000b`, `two\nlines`, strings.Repeat("x", maxName+1)} {
		c := serve(t, answers(map[string]string{
			"GET /v1/models": `{"data":[{"id":"fine"},{"id":"` + name + `"}]}`,
			"GET /version":   `{"version":"` + name + `"}`,
		}))
		_, err := c.Models(t.Context())
		_, also := c.Version(t.Context())
		for _, err := range []error{err, also} {
			if err == nil || !strings.Contains(err.Error(), "a name ") || strings.ContainsAny(err.Error(), "\x1b\x00\n") || len(err.Error()) > 1000 {
				t.Errorf("%.20q: %v", name, err)
			}
		}
	}
}

// A count that no vocabulary has would have prompts grow without end.
func TestTokenizeCountsThatCannotBe(t *testing.T) {
	for _, count := range []string{`-5`, `1000000000000000`, `5000`} {
		c := serve(t, answers(map[string]string{"GET /v1/models": `{"data":[{"id":"m"}]}`, "POST /tokenize": `{"count":` + count + `}`}))
		if n, _, err := c.Tokenize(t.Context(), "a b c"); err == nil || !strings.Contains(err.Error(), count+" tokens for a text of 5 bytes") {
			t.Errorf("%s: %d, %v", count, n, err)
		}
	}
}
