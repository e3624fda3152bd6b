package run_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestReadyFallsBackWhereHealthIsUnknown(t *testing.T) {
	spec := enginetest.Fake(enginetest.NoHealth)
	inst := launched(t, spec)
	must.Do(t, inst.Ready(t.Context()))
}

func TestReadyTellsWhatTheEngineAnswered(t *testing.T) {
	spec := enginetest.Fake(enginetest.NeverReady)
	inst := launched(t, spec)
	// After the start of the process the answer is 503, not "connection refused".
	for limit := time.Now().Add(30 * time.Second); len(logscan.Tail(inst.LogPath(), 9)) < 2 &&
		time.Now().Before(limit); {
		time.Sleep(5 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := inst.Ready(ctx)
	if err == nil || !strings.Contains(err.Error(), "last answer: 503 Service Unavailable to GET /health: loading") {
		t.Errorf("Ready: %v", err)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ready: %v, want the context's error inside", err)
	}
}

// A model that Ollama does not have never appears by waiting.
func TestAnAnswerThatWaitingDoesNotMend(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/generate" {
			http.Error(w, `{"error":"model 'nope' not found"}`, http.StatusNotFound)
		}
	}))
	defer server.Close()
	kind, _ := kinds.Lookup("ollama")
	var life engine.Lifetime
	life.Begin()
	err := run.Waiter{
		Kind: kind, Model: "nope", Access: engine.Access{BaseURL: server.URL}, Lifetime: &life, Limit: time.Hour,
		Failure: func(op string, cause error, format string, args ...any) *engine.Failure {
			return &engine.Failure{Op: op, Reason: fmt.Sprintf(format, args...), Err: cause}
		},
	}.Wait(context.Background())
	if err == nil || !strings.Contains(err.Error(), "model 'nope' not found") ||
		!strings.Contains(err.Error(), "ollama pull") {
		t.Errorf("Wait: %v", err)
	}
}
