package steps

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/openai"
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
			if _, err := client.Complete(t.Context(), openai.Request{Prompt: "p", MaxTokens: 1}); err != nil {
				t.Fatal(err)
			}
		}
		client.Close()
		if n := connections.Load(); (n == 3) != fresh {
			t.Errorf("%s: %d connections for 3 streams", kind, n)
		}
	}
}
