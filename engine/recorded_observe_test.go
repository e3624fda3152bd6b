package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/enginetest"
)

func TestRecordedServersAreObserved(t *testing.T) {
	eachKind(t, func(t *testing.T, k engine.Kind, r enginetest.Recording) {
		inst := start(t, enginetest.Replay(r.Kind, ""))
		patterns := k.Patterns(nil)
		for name, theirs := range k.Metrics.Names {
			patterns = append(patterns, engine.Pattern{Name: "metric." + name, Type: engine.TypeNumber, Metric: theirs})
		}
		got, missing := map[string]string{}, map[string]string{}
		for _, o := range engine.Observe(t.Context(), inst, k.Metrics.Path, patterns) {
			if o.Missing != "" {
				missing[o.Name] = o.Missing
				continue
			}
			got[o.Name] = shown(o.Value)
		}
		for name, want := range r.Expect.Observed {
			if got[name] != want {
				t.Errorf("%s is %q, want %q %s", name, got[name], want, missing[name])
			}
		}
		// What the profile can see at all, the recording shows.
		for _, p := range patterns {
			if _, metric := strings.CutPrefix(p.Name, "metric."); metric && got[p.Name] == "" {
				t.Errorf("%s is not in the recorded page: %s", p.Name, missing[p.Name])
			} else if _, expected := r.Expect.Observed[p.Name]; !metric && !expected && got[p.Name] != "" {
				t.Errorf("%s is observed as %q, and the recording does not expect it", p.Name, got[p.Name])
			}
		}
		if d, broke := k.Diagnose(inst.LogPath()); broke {
			t.Errorf("a healthy log is taken for a crash: %v", d)
		}
	})
}

// shown prints numbers to three places, so that scaled ones can be written down.
func shown(v any) string {
	if f, ok := v.(float64); ok {
		text := strconv.FormatFloat(f, 'f', 3, 64)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return fmt.Sprint(v)
}

// A model that Ollama does not have never comes by waiting.
func TestAnAnswerThatWaitingDoesNotMend(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/generate" {
			http.Error(w, `{"error":"model 'nope' not found"}`, http.StatusNotFound)
		}
	}))
	defer server.Close()
	kind, _ := engine.LookupKind("ollama")
	_, err := engine.Waiter{
		Kind: kind, Model: "nope", Access: engine.Access{BaseURL: server.URL}, Started: time.Now(), Limit: time.Hour,
		Exited: make(chan struct{}), Exit: func() *engine.Exit { return nil },
		Failure: func(op string, cause error, format string, args ...any) *engine.Failure {
			return &engine.Failure{Op: op, Reason: fmt.Sprintf(format, args...), Err: cause}
		},
	}.Wait(context.Background())
	if err == nil || !strings.Contains(err.Error(), "model 'nope' not found") || !strings.Contains(err.Error(), "ollama pull") {
		t.Errorf("Wait: %v", err)
	}
}
