package observe

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// talking is an engine that has a log, pages and files, and nothing else.
type talking struct {
	engine.Instance
	url, log string
}

func (e talking) Access() engine.Access {
	return engine.Access{BaseURL: e.url, Header: http.Header{"Authorization": {"Bearer key"}}}
}
func (e talking) LogPath() string { return e.log }
func (e talking) Output(ctx context.Context, argv ...string) ([]byte, error) {
	return exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
}

func newTalking(t *testing.T, log string, pages map[string]string) (talking, map[string]int) {
	t.Helper()
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		text, ok := pages[r.URL.Path]
		switch {
		case r.Header.Get("Authorization") != "Bearer key":
			w.WriteHeader(http.StatusUnauthorized)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(server.Close)
	return talking{url: server.URL, log: writeLog(t, log)}, asked
}

const ranksPage = `# HELP vllm:num_requests_running Number of requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} 2.0
vllm:num_requests_running{engine="1"} 2.0
# TYPE vllm:tokens_total counter
vllm:tokens_total{engine="0"} 713.0
vllm:tokens_total{engine="1"} 714.0
vllm:tokens_created 1.7e9
# TYPE vllm:bad gauge
vllm:bad NaN
# TYPE vllm:latency histogram
vllm:latency_bucket{le="+Inf"} 3
vllm:latency_sum 1.5
vllm:latency_count 3
`

func TestObserve(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tactic.json")
	must.Do(t, os.WriteFile(file, []byte(`{"tactic": {"tile": "64x128"}}`), 0o600))
	inst, asked := newTalking(t, "\x1b[36mINFO\x1b[0m Using AttentionBackendEnum.FLASHINFER backend.\n"+
		"Model loading took 61.3380 GiB memory and 67.9 seconds\nGPU KV cache size: 1,000 tokens\n"+
		"GPU KV cache size: 545,824 tokens\nCapturing CUDA graphs\nfallback\nfallback\nflag: off\n",
		map[string]string{
			"/version": `{"version": "0.14.0"}`,
			"/info":    `{"a": {"b": true, "n": 3}, "list": [1, 2], "big": 12345678901234567890, "none": null}`,
			"/text":    "not json", "/metrics": ranksPage, "/huge": `"` + strings.Repeat("x", maxPage) + `"`,
		})
	page := func(jq string) kinds.Pattern { return kinds.Pattern{Type: kinds.TypeNumber, Path: "/info", JQ: jq} }
	typed := func(p kinds.Pattern, ty kinds.Type) kinds.Pattern { p.Type = ty; return p }
	log := func(ty kinds.Type, exprs ...string) kinds.Pattern { return kinds.Pattern{Type: ty, Log: exprs} }
	metric := func(names ...string) kinds.Pattern { return kinds.Pattern{Type: kinds.TypeNumber, Metric: names} }
	tests := map[string]struct {
		p    kinds.Pattern
		want any
		// says is part of where it was seen, or of why it was not.
		says string
	}{
		"word": {log(kinds.TypeString, `Using (\w+) attention backend`,
			`Using AttentionBackendEnum\.(\w+) backend`), "FLASHINFER", "log line 1"},
		"mapped word": {kinds.Pattern{
			Type: kinds.TypeString, Log: []string{`Enum\.(\w+)`},
			Words: map[string]string{"FLASHINFER": "fi"},
		}, "fi", "log line 1"},
		"turned around": {kinds.Pattern{
			Type: kinds.TypeBool, Log: []string{`flag: (\w+)`},
			Words: map[string]string{"off": "true", "on": "false"},
		}, true, "log line 8"},
		"not turned": {kinds.Pattern{
			Type: kinds.TypeBool, Log: []string{`flag`},
			Words: map[string]string{"true": "false"},
		}, true, "log line 8"},
		"last match": {log(kinds.TypeNumber, `KV cache size: ([\d,]+) tokens`), 545824.0, "log line 4"},
		"scaled": {kinds.Pattern{
			Type: kinds.TypeNumber, Scale: 2,
			Log: []string{`took (?P<value>[\d.]+) GiB`},
		}, 122.676, "log line 2"},
		"named group":       {log(kinds.TypeString, `(\w+) (?P<value>CUDA)`), "CUDA", "log line 5"},
		"bool":              {log(kinds.TypeBool, `Capturing CUDA graphs`), true, "log line 5"},
		"bool of a group":   {log(kinds.TypeBool, `flag: (\w+)`), false, "log line 8"},
		"count":             {log(kinds.TypeCount, `^fallback$`), 2.0, "2 lines of the log"},
		"count of none":     {log(kinds.TypeCount, `no such line`), 0.0, "0 lines of the log"},
		"not in the log":    {log(kinds.TypeString, `Chose (\w+)`), nil, "no line of the log matches"},
		"not a number":      {log(kinds.TypeNumber, `Using (.*)`), nil, "is not a number"},
		"expression broken": {log(kinds.TypeString, `(`), nil, "log expression"},
		"page": {
			kinds.Pattern{Type: kinds.TypeString, Path: "/version", JQ: ".version"},
			"0.14.0",
			"GET /version",
		},
		"page number":       {page(".a.n"), 3.0, "GET /info"},
		"first result":      {page(".list[]"), 1.0, "GET /info"},
		"no result":         {page("empty"), nil, "there is no such value"},
		"null":              {page(".none"), nil, "there is no such value"},
		"object":            {page(".a"), nil, "an object, not a single value"},
		"list":              {page(".list"), nil, "a list, not a single value"},
		"bool as number":    {page(".a.b"), nil, `"true" is not a number`},
		"page bool":         {typed(page(".a.b"), kinds.TypeBool), true, "GET /info"},
		"number as word":    {typed(page(".a.n"), kinds.TypeString), "3", "GET /info"},
		"jq error":          {page(".a.b.c"), nil, `jq ".a.b.c"`},
		"jq does not parse": {page(".["), nil, `jq ".["`},
		"jq never ends":     {page("last(range(1e18))"), nil, "did not end within 2s"},
		"jq sees no env":    {typed(page("env.HOME"), kinds.TypeString), nil, "there is no such value"},
		"missing page": {
			kinds.Pattern{Type: kinds.TypeString, Path: "/nowhere", JQ: "."},
			nil,
			"GET /nowhere: it answered 404",
		},
		"no json": {
			kinds.Pattern{Type: kinds.TypeString, Path: "/text", JQ: "."},
			nil,
			`it starts with "not json"`,
		},
		"huge page": {kinds.Pattern{Type: kinds.TypeString, Path: "/huge", JQ: "."}, nil, "larger than 8 MiB"},
		"file": {
			kinds.Pattern{Type: kinds.TypeString, File: file, JQ: ".tactic.tile"},
			"64x128",
			"file " + file,
		},
		"missing file": {kinds.Pattern{Type: kinds.TypeString, File: file + "x", JQ: "."}, nil, "cannot read it"},
		"gauge of ranks": {
			metric("vllm:new_name", "vllm:num_requests_running"), 2.0,
			"metric vllm:num_requests_running",
		},
		"series differ": {metric("vllm:tokens_total"), nil, "2 different series"},
		"labels": {kinds.Pattern{
			Type: kinds.TypeNumber, Metric: []string{"vllm:tokens_total"},
			Labels: map[string]string{"engine": "1"},
		}, 714.0, "metric vllm:tokens_total"},
		"no such labels": {kinds.Pattern{
			Type: kinds.TypeNumber, Metric: []string{"vllm:tokens_total"},
			Labels: map[string]string{"engine": "7"},
		}, nil, `none of the 2 series`},
		"never a prefix": {metric("vllm:tokens"), nil, "has no metric vllm:tokens"},
		"histogram":      {metric("vllm:latency_count"), 3.0, "metric vllm:latency_count"},
		"not finite":     {metric("vllm:bad"), nil, "not a finite number"},
		"no source":      {kinds.Pattern{Type: kinds.TypeString}, nil, "has no source"},
	}
	var patterns []kinds.Pattern
	for name, tc := range tests {
		p := tc.p
		p.Name = name
		patterns = append(patterns, p)
	}
	got := All(t.Context(), inst, "/metrics", patterns)
	if len(got) != len(tests) {
		t.Fatalf("%d observations of %d", len(got), len(tests))
	}
	for _, o := range got {
		tc := tests[o.Name]
		if o.Value != tc.want {
			t.Errorf("%s: got %v (%s), want %v", o.Name, o.Value, o.Missing, tc.want)
		}
		if (o.Missing == "") != (o.Value != nil) || !strings.Contains(o.From+o.Missing, tc.says) {
			t.Errorf("%s: from %q, missing %q; want %q", o.Name, o.From, o.Missing, tc.says)
		}
	}
	for path, n := range asked {
		if n > 1 {
			t.Errorf("%s was asked %d times", path, n)
		}
	}
}

func TestObserveAlternatives(t *testing.T) {
	inst, _ := newTalking(t, "a: 1\nb: 2\n", nil)
	of := func(name, expr string) kinds.Pattern {
		return kinds.Pattern{Name: name, Type: kinds.TypeNumber, Log: []string{expr}}
	}
	got := All(t.Context(), inst, "", []kinds.Pattern{
		of("x", `c: (\d)`), of("y", `c: (\d)`), of("x", `b: (\d)`),
		of("x", `a: (\d)`),
		{Name: "m", Type: kinds.TypeNumber, Metric: []string{"m"}},
	})
	if len(got) != 3 || got[0].Value != 2.0 || got[1].Missing == "" ||
		!strings.Contains(got[2].Missing, "no metrics page") {
		t.Errorf("got %+v", got)
	}
	kind := kinds.Kind{
		Version: kinds.Pattern{Path: "/version", JQ: ".version"},
		Observe: []kinds.Pattern{of("x", "a"), of("y", "b"), of("x", "c")},
	}
	var names []string
	for _, p := range kind.Patterns([]kinds.Pattern{of("x", "d")}) {
		names = append(names, p.Name+strings.Join(p.Log, ""))
	}
	if got := strings.Join(names, " "); got != "version yb xd" {
		t.Errorf("patterns %s", got)
	}
}

func TestObserveWithoutALog(t *testing.T) {
	inst, _ := newTalking(t, "", nil)
	count := []kinds.Pattern{{Name: "n", Type: kinds.TypeCount, Log: []string{"x"}}}
	if o := All(t.Context(), inst, "", count)[0]; o.Value != nil || !strings.Contains(o.Missing, "logged nothing") {
		t.Errorf("an empty log: %+v", o)
	}
	inst.log += ".none"
	if o := All(t.Context(), inst, "", count)[0]; o.Value != nil ||
		!strings.Contains(o.Missing, "cannot read the log") {
		t.Errorf("no log: %+v", o)
	}
	inst.log = writeLog(t, "x\n\n[mxflow] log limit reached: about 12 bytes were dropped here\nx\n")
	if o := All(t.Context(), inst, "", count)[0]; o.Value != nil || !strings.Contains(o.Missing, "dropped") {
		t.Errorf("a cut log: %+v", o)
	}
}

func writeLog(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine.log")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A caller that gives up is not told that the expression took too long.
func TestRunJQGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := RunJQ(ctx, "last(range(1e18))", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}
