package embedded

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// A profile names each kernel that ran between start and stop, within its step, and none from another time.
func TestProfile(t *testing.T) {
	dir := t.TempDir()
	url, _ := testServer(t, func(c *Config) { c.ProfilerDir, c.Threads = dir, 2 })
	ask := func(path, body string, want int) {
		t.Helper()
		if status, answer := post(t, url+path, body); status != want {
			t.Fatalf("%s answered %d, want %d: %s", path, status, want, answer)
		}
	}
	const one = `{"prompt":"The capital of France is","max_tokens":1}`
	ask("/stop_profile", "", http.StatusBadRequest)
	ask("/start_profile", "", http.StatusOK)
	ask("/start_profile", "", http.StatusBadRequest)
	ask("/v1/completions", one, http.StatusOK)
	ask("/stop_profile", "", http.StatusOK)
	ask("/v1/completions", `{"prompt":"The capital of France is","max_tokens":4}`, http.StatusOK)
	ask("/start_profile", "", http.StatusOK)
	ask("/v1/completions", `{"prompt":"The capital of France is","max_tokens":4}`, http.StatusOK)
	ask("/stop_profile", "", http.StatusOK)

	first, second := readTrace(t, dir, "*.1.pt.trace.json.gz"), readTrace(t, dir, "*.2.pt.trace.json.gz")
	layers := testModel(t, nil).shape.layers
	for _, tt := range []struct {
		name   string
		in     map[string]int
		kernel string
		want   int
	}{
		{"prefill", first, kernelPrefillCached, layers},
		{"prefill", first, kernelDecodeCached, 0},
		{"prefill", first, "execute_context_1(5)_generation_0(0)", 1},
		{"prefill", first, kernelHeadF32, 1},
		{"decoding", second, kernelDecodeCached, 3 * layers},
		{"decoding", second, kernelMoERouted, 4 * layers},
		{"decoding", second, "execute_context_0(0)_generation_1(1)", 3},
		{"decoding", second, kernelSample, 4},
	} {
		if got := tt.in[tt.kernel]; got != tt.want {
			t.Errorf("%s: %d of %s, want %d: %v", tt.name, got, tt.kernel, tt.want, tt.in)
		}
	}
}

// readTrace counts the spans of the only trace that matches, without the host's copies of
// annotations, and checks whether kernels are within steps.
func readTrace(t *testing.T, dir, glob string) map[string]int {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, glob))
	if len(files) != 1 {
		t.Fatalf("%d files fit %s", len(files), glob)
	}
	file, err := os.Open(files[0])
	must.Do(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	must.Do(t, err)
	var trace struct {
		TraceEvents []struct {
			Cat, Name string
			Ts, Dur   float64
		}
	}
	must.Do(t, json.NewDecoder(unpacked).Decode(&trace))
	spans := map[string]int{}
	for _, e := range trace.TraceEvents {
		if e.Cat != "user_annotation" && e.Cat != "" {
			spans[e.Name]++
		}
		if e.Cat != "kernel" {
			continue
		}
		within := false
		for _, s := range trace.TraceEvents {
			within = within || s.Cat == "gpu_user_annotation" && s.Ts <= e.Ts && e.Ts+e.Dur <= s.Ts+s.Dur
		}
		if !within {
			t.Errorf("%s at %g lies in no step", e.Name, e.Ts)
		}
	}
	return spans
}
