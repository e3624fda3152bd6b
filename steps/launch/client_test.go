package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// running is an engine at a place of its own.
type running struct {
	engine.Instance
	url string
}

func (r running) Access() engine.Access { return engine.Access{BaseURL: r.url} }

// Of an engine that closes each connection behind a stream none is kept: a request on
// it would race the end of the connection, and go out twice where it loses.
func TestClientOfAnEngineThatClosesStreams(t *testing.T) {
	for kind, fresh := range map[string]bool{"llamacpp": true, "vllm": false} {
		var connections atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":[{\"text\":\"hello\",\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n")
		}))
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		server.Start()
		t.Cleanup(server.Close)
		k, ok := kinds.Lookup(kind)
		if !ok {
			t.Fatalf("no kind %s", kind)
		}
		client := ClientOf(running{url: server.URL}, k, "m")
		for range 3 {
			if _, err := client.Stream(t.Context(), openai.Request{Prompt: "p", MaxTokens: 1}); err != nil {
				t.Fatal(err)
			}
		}
		client.Close()
		if n := connections.Load(); (n == 3) != fresh {
			t.Errorf("%s: %d connections for 3 streams", kind, n)
		}
	}
}

// Each kind's way of counting reaches the client that prompts are made with.
func TestKindsCountTokens(t *testing.T) {
	answers := map[string]string{
		"/tokenize":        `{"count":3,"tokens":[1,2,3]}`,
		"/v1/token/encode": `{"length":3,"tokens":[7,8,9]}`, "/own": `{"count":3}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(said))
	}))
	defer s.Close()
	own := variant.Profile{TokenizePath: "/own"}.Extend(kinds.Kind{Name: "openai"})
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
	if _, _, err := client.Tokenize(t.Context(), "x"); err == nil ||
		!strings.Contains(err.Error(), ".nothing of its answer is <nil>") {
		t.Errorf("an answer without a count: %v", err)
	}
}

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
			st := &Started{
				Client: openai.New(s.URL, "m"), Record: &ledger.Launch{},
				Lab: &Lab{Variants: &variant.Resolver{Plan: &plans.Plan{}}},
			}
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
	busy := &Started{
		Client: openai.New(s.URL, "m"), Record: &ledger.Launch{},
		Lab: &Lab{Variants: &variant.Resolver{Plan: &plans.Plan{}}},
	}
	if err := busy.firstRequest(t.Context(), &variant.Variant{Spec: engine.Spec{Kind: "openai"}}); err != nil ||
		refused != 3 || len(busy.Record.Metrics) != 1 {
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
	st := &Started{Record: &ledger.Launch{}, Lab: &Lab{Variants: &variant.Resolver{Plan: &plans.Plan{}}}}
	if err := st.firstRequest(t.Context(), &variant.Variant{Spec: engine.Spec{Kind: "command"}}); err != nil ||
		st.Record.Metrics != nil {
		t.Errorf("a command was asked: %v", err)
	}
}

// endless is a command that prints without end: it is stopped when it has
// printed too much, and not by its time limit.
func TestEndlessOutputIsStopped(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	c := &variant.Command{Format: variant.FormatJSON, Timeout: 5 * time.Minute}
	inst, err := run.Launcher{}.Launch(t.Context(), engine.Spec{
		Kind: "command", Command: []string{"sh", "-c", "head -c 70000000 /dev/zero; exec sleep 1000"},
		StopGrace: time.Second,
	}, engine.Launch{ID: "endless", Owner: "test", LogPath: log, OutPath: outPath(log)})
	must.Do(t, err)
	defer func() { _ = inst.Stop(context.Background()) }()
	st := &Started{Inst: inst, Lab: &Lab{}, Record: &ledger.Launch{OK: true}, command: commandUse{of: c, dir: dir}}
	err = st.Execute(t.Context(), c)
	var failure *engine.Failure
	if !errors.As(err, &failure) || !strings.Contains(failure.Reason, "printed more than 64 MiB") {
		t.Errorf("got %v", err)
	}
}
