package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Times are exact in the bubble: each probe waits as long as its turn says.
func TestLatency(t *testing.T) {
	for _, mode := range []LatencyMode{LatencyAPI, LatencyGeneration} {
		t.Run(string(mode), func(t *testing.T) {
			turn := 0
			waits := []time.Duration{time.Second, 10 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond}
			handler := func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				time.Sleep(waits[turn])
				turn++
				if r.Method == http.MethodGet && r.URL.Path == "/v1/models" {
					_, _ = io.WriteString(w, `{"data":[]}`)
					return
				}
				if !strings.Contains(string(body), `"content":"hello"`) || !strings.Contains(string(body), `"max_tokens":1`) {
					t.Errorf("asked %s", body)
				}
				// What comes after the first event is not its latency.
				script(": ping\n\n", delta(`"role":"assistant"`))(w, r)
				time.Sleep(time.Second)
				script(delta(`"content":"a"`), end)(w, r)
			}
			inBubble(t, handler, func(t *testing.T, c *Client) {
				mean, probes, err := c.Latency(t.Context(), mode, LatencyProbes)
				if err != nil || mean != 30*time.Millisecond || len(probes) != 3 || probes[0] != waits[1] || probes[2] != waits[3] {
					t.Errorf("mean %v of %v, %v", mean, probes, err)
				}
			})
		})
	}
}

func TestLatencyThatCannotBeMeasured(t *testing.T) {
	asked := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 3 || r.Method == http.MethodPost {
			http.Error(w, "gone", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	})
	var status *StatusError
	if mean, probes, err := c.Latency(t.Context(), LatencyAPI, 5); mean != 0 || probes != nil || !errors.As(err, &status) || !strings.Contains(err.Error(), "probe 3 of 6") {
		t.Errorf("a probe that fails: %v, %v, %v", mean, probes, err)
	}
	if _, _, err := c.Latency(t.Context(), LatencyGeneration, 1); !errors.As(err, &status) {
		t.Errorf("no chat: %v", err)
	}
	if _, _, err := c.Latency(t.Context(), "ping", 3); err == nil || !strings.Contains(err.Error(), `"ping"`) {
		t.Errorf("an unknown mode: %v", err)
	}
	if _, _, err := c.Latency(t.Context(), LatencyAPI, 0); err == nil {
		t.Error("no probes at all")
	}
	asked = 0
	if mean, probes, err := c.Latency(t.Context(), LatencyNone, 0); mean != 0 || probes != nil || err != nil || asked != 0 {
		t.Errorf("none: %v, %v, %v after %d requests", mean, probes, err, asked)
	}
}
