package launch

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/openai"
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
	if _, _, err := client.Tokenize(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), ".nothing of its answer is <nil>") {
		t.Errorf("an answer without a count: %v", err)
	}
}
