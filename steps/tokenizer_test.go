package steps

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/variant"
)

// Each kind's way of counting reaches the client that prompts are made with.
func TestKindsCountTokens(t *testing.T) {
	answers := map[string]string{"/tokenize": `{"count":3,"tokens":[1,2,3]}`, "/v1/token/encode": `{"length":3,"tokens":[7,8,9]}`, "/own": `{"count":3}`}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(said))
	}))
	defer s.Close()
	own := variant.Profile{TokenizePath: "/own"}.Over(kinds.Kind{Name: "openai"})
	for _, k := range append(kinds.All(), own) {
		if k.Tokenize.Path == "" {
			continue
		}
		client := openai.New(s.URL, "m")
		client.Tokenizer = tokenizerOf(k.Tokenize)
		if n, _, err := client.Tokenize(t.Context(), "a b c"); err != nil || n != 3 {
			t.Errorf("%s at %s: %d, %v", k.Name, k.Tokenize.Path, n, err)
		}
	}
	client := openai.New(s.URL, "m")
	client.Tokenizer = tokenizerOf(kinds.Tokenize{Path: "/own", Field: "prompt", Count: ".nothing"})
	if _, _, err := client.Tokenize(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), ".nothing of its answer is <nil>") {
		t.Errorf("an answer without a count: %v", err)
	}
}

// Silence about cached tokens is said, where the engine could be made to speak.
func TestUnknownCachesAreNoted(t *testing.T) {
	for _, c := range []struct {
		flag   string
		cached int
		want   string
	}{
		{"--report", -1, "is not known of 1 of 1 requests: started with --report"},
		{"", -1, ""},
		{"--report", 0, ""},
		{"--report", 90, "prompts were partly answered from a cache"},
	} {
		r := &recording{Subject: Subject{Kind: kinds.Kind{Ask: kinds.Ask{CachedTokens: c.flag}}}, taken: &Taken{}}
		sample := measure.Sample{PromptTokens: 100, OutputTokens: 1, CachedTokens: c.cached, TokenSource: measure.SourceUsage, Text: "one two three"}
		r.cached(sentCell{w: &plans.Workload{}, cell: plans.Cell{Address: "chat", Prompt: 100}, samples: []measure.Sample{sample}})
		notes := tell.Joined(append(r.taken.Notes, r.taken.Invalid...))
		if c.want == "" && strings.Contains(notes, "cache") || !strings.Contains(notes, c.want) {
			t.Errorf("%q, %d cached: %q", c.flag, c.cached, notes)
		}
	}
}
