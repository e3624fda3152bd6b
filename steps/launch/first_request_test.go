package launch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// oneToken answers a request for one token as a server does that has this path
// alone.
func oneToken(path, model string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"text":"!","delta":{"content":"!"}}]}`+"\n\ndata: [DONE]\n\n")
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"data":[{"id":%q}]}`, model)
	})
	return mux
}

func TestFirstRequest(t *testing.T) {
	for _, c := range []struct {
		name, path, model string
		fails             string
		api               openai.API
	}{
		{"completions", "/v1/completions", "m", "", ""},
		{"chat alone", "/v1/chat/completions", "m", "", openai.Chat},
		{"neither", "/v1/embeddings", "m", "but could not answer one token: POST /v1/completions: HTTP status 404", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(oneToken(c.path, c.model))
			defer s.Close()
			st := &Started{Client: openai.New(s.URL, "m"), Record: &ledger.Launch{}, Lab: &Lab{Resolver: variant.Resolver{Plan: &plans.Plan{}}}}
			err := st.firstRequest(t.Context(), &variant.Variant{Spec: engine.Spec{Kind: "openai"}})
			_, timed := st.Record.Metrics["engine.first_request_s"]
			switch {
			case c.fails == "" && (err != nil || !timed || st.API != c.api):
				t.Errorf("%v, timed %v, api %q", err, timed, st.API)
			case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || timed):
				t.Errorf("%v (timed %v), want %q in it", err, timed, c.fails)
			}
		})
	}
	// One that is busy is asked again when it says, and that is part of the time.
	refused := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused++; refused <= 2 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		oneToken("/v1/completions", "m").ServeHTTP(w, r)
	}))
	defer s.Close()
	busy := &Started{Client: openai.New(s.URL, "m"), Record: &ledger.Launch{}, Lab: &Lab{Resolver: variant.Resolver{Plan: &plans.Plan{}}}}
	if err := busy.firstRequest(t.Context(), &variant.Variant{Spec: engine.Spec{Kind: "openai"}}); err != nil || refused != 3 || len(busy.Record.Metrics) != 1 {
		t.Errorf("a busy server was asked %d times: %v", refused, err)
	}
	for _, c := range []struct {
		asked, listed string
		refused       bool
	}{
		{"m", "m", false},
		{"m", "other m", false},
		{"", "other", false},
		{"m", "", false}, // it has no such page
		{"tiny", "tiny:latest", false},
		{"org/m@main", "org/m", false},
		{"/models/m", "m", false},
		{"m", "other", true},
		{"m", "/models/m", true},
		{"org/m", "m", true},
		{"tiny:1b", "tiny:latest", true},
		{"/models/m", "other", true},
	} {
		var listed []openai.Model
		for name := range strings.FieldsSeq(c.listed) {
			listed = append(listed, openai.Model{ID: name})
		}
		err := ModelListed(c.asked, listed)
		if (err != nil) != c.refused || c.refused && brokenBy(err).Kind != code.WrongModel.Kind {
			t.Errorf("%q of %q: %v, want refused %v", c.asked, c.listed, err, c.refused)
		}
	}
	// What is no server is not asked.
	st := &Started{Record: &ledger.Launch{}, Lab: &Lab{Resolver: variant.Resolver{Plan: &plans.Plan{}}}}
	if err := st.firstRequest(t.Context(), &variant.Variant{Spec: engine.Spec{Kind: "command"}}); err != nil || st.Record.Metrics != nil {
		t.Errorf("a command was asked: %v", err)
	}
}
