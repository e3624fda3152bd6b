package engine

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// talking is an engine that has a log, pages and files, and does nothing else.
type talking struct {
	Instance
	url, log string
}

func (e talking) Access() Access {
	return Access{BaseURL: e.url, Header: http.Header{"Authorization": {"Bearer key"}}}
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
	if err := os.WriteFile(file, []byte(`{"tactic": {"tile": "64x128"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	inst, asked := newTalking(t, "\x1b[36mINFO\x1b[0m Using AttentionBackendEnum.FLASHINFER backend.\n"+
		"Model loading took 61.3380 GiB memory and 67.9 seconds\nGPU KV cache size: 1,000 tokens\n"+
		"GPU KV cache size: 545,824 tokens\nCapturing CUDA graphs\nfallback\nfallback\nflag: off\n",
		map[string]string{
			"/version": `{"version": "0.14.0"}`, "/info": `{"a": {"b": true, "n": 3}, "list": [1, 2], "big": 12345678901234567890, "none": null}`,
			"/text": "not json", "/metrics": ranksPage, "/huge": `"` + strings.Repeat("x", maxPage) + `"`,
		})
	page := func(jq string) Pattern { return Pattern{Type: TypeNumber, Path: "/info", JQ: jq} }
	typed := func(p Pattern, ty Type) Pattern { p.Type = ty; return p }
	log := func(ty Type, exprs ...string) Pattern { return Pattern{Type: ty, Log: exprs} }
	metric := func(names ...string) Pattern { return Pattern{Type: TypeNumber, Metric: names} }
	tests := map[string]struct {
		p    Pattern
		want any
		// says is part of where it was seen, or of why it was not.
		says string
	}{
		"word":              {log(TypeString, `Using (\w+) attention backend`, `Using AttentionBackendEnum\.(\w+) backend`), "FLASHINFER", "log line 1"},
		"mapped word":       {Pattern{Type: TypeString, Log: []string{`Enum\.(\w+)`}, Words: map[string]string{"FLASHINFER": "fi"}}, "fi", "log line 1"},
		"turned around":     {Pattern{Type: TypeBool, Log: []string{`flag: (\w+)`}, Words: map[string]string{"off": "true", "on": "false"}}, true, "log line 8"},
		"not turned":        {Pattern{Type: TypeBool, Log: []string{`flag`}, Words: map[string]string{"true": "false"}}, true, "log line 8"},
		"last match":        {log(TypeNumber, `KV cache size: ([\d,]+) tokens`), 545824.0, "log line 4"},
		"scaled":            {Pattern{Type: TypeNumber, Scale: 2, Log: []string{`took (?P<value>[\d.]+) GiB`}}, 122.676, "log line 2"},
		"named group":       {log(TypeString, `(\w+) (?P<value>CUDA)`), "CUDA", "log line 5"},
		"bool":              {log(TypeBool, `Capturing CUDA graphs`), true, "log line 5"},
		"bool of a group":   {log(TypeBool, `flag: (\w+)`), false, "log line 8"},
		"count":             {log(TypeCount, `^fallback$`), 2.0, "2 lines of the log"},
		"count of none":     {log(TypeCount, `no such line`), 0.0, "0 lines of the log"},
		"not in the log":    {log(TypeString, `Chose (\w+)`), nil, "no line of the log says it"},
		"not a number":      {log(TypeNumber, `Using (.*)`), nil, "is not a number"},
		"expression broken": {log(TypeString, `(`), nil, "log expression"},
		"page":              {Pattern{Type: TypeString, Path: "/version", JQ: ".version"}, "0.14.0", "GET /version"},
		"page number":       {page(".a.n"), 3.0, "GET /info"},
		"first result":      {page(".list[]"), 1.0, "GET /info"},
		"no result":         {page("empty"), nil, "there is no such value"},
		"null":              {page(".none"), nil, "there is no such value"},
		"object":            {page(".a"), nil, "an object, not a single value"},
		"list":              {page(".list"), nil, "a list, not a single value"},
		"bool as number":    {page(".a.b"), nil, `"true" is not a number`},
		"page bool":         {typed(page(".a.b"), TypeBool), true, "GET /info"},
		"number as word":    {typed(page(".a.n"), TypeString), "3", "GET /info"},
		"jq error":          {page(".a.b.c"), nil, `jq ".a.b.c"`},
		"jq does not parse": {page(".["), nil, `jq ".["`},
		"jq never ends":     {page("last(range(1e18))"), nil, "did not end within 2s"},
		"jq piles up":       {page("null | .[100000000] = 1 | . as $x | last(range(1e18)) | $x"), nil, "needs more than 1 GiB"},
		"jq sees no env":    {typed(page("env.HOME"), TypeString), nil, "there is no such value"},
		"missing page":      {Pattern{Type: TypeString, Path: "/nowhere", JQ: "."}, nil, "GET /nowhere: it answered 404"},
		"no json":           {Pattern{Type: TypeString, Path: "/text", JQ: "."}, nil, `it begins with "not json"`},
		"huge page":         {Pattern{Type: TypeString, Path: "/huge", JQ: "."}, nil, "larger than 8 MiB"},
		"file":              {Pattern{Type: TypeString, File: file, JQ: ".tactic.tile"}, "64x128", "file " + file},
		"missing file":      {Pattern{Type: TypeString, File: file + "x", JQ: "."}, nil, "it cannot be read"},
		"gauge of ranks":    {metric("vllm:new_name", "vllm:num_requests_running"), 2.0, "metric vllm:num_requests_running"},
		"series differ":     {metric("vllm:tokens_total"), nil, "2 series that differ"},
		"labels":            {Pattern{Type: TypeNumber, Metric: []string{"vllm:tokens_total"}, Labels: map[string]string{"engine": "1"}}, 714.0, "metric vllm:tokens_total"},
		"no such labels":    {Pattern{Type: TypeNumber, Metric: []string{"vllm:tokens_total"}, Labels: map[string]string{"engine": "7"}}, nil, `none of the 2 series`},
		"never a prefix":    {metric("vllm:tokens"), nil, "has no metric vllm:tokens"},
		"histogram":         {metric("vllm:latency_count"), 3.0, "metric vllm:latency_count"},
		"not finite":        {metric("vllm:bad"), nil, "not a finite number"},
		"no source":         {Pattern{Type: TypeString}, nil, "names no source"},
	}
	var patterns []Pattern
	for name, tc := range tests {
		p := tc.p
		p.Name = name
		patterns = append(patterns, p)
	}
	got := Observe(t.Context(), inst, "/metrics", patterns)
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
	of := func(name, expr string) Pattern { return Pattern{Name: name, Type: TypeNumber, Log: []string{expr}} }
	got := Observe(t.Context(), inst, "", []Pattern{of("x", `c: (\d)`), of("y", `c: (\d)`), of("x", `b: (\d)`), of("x", `a: (\d)`), {Name: "m", Type: TypeNumber, Metric: []string{"m"}}})
	if len(got) != 3 || got[0].Value != 2.0 || got[1].Missing == "" || !strings.Contains(got[2].Missing, "no page of metrics") {
		t.Errorf("got %+v", got)
	}
	kind := Kind{Version: Pattern{Path: "/version", JQ: ".version"}, Observe: []Pattern{of("x", "a"), of("y", "b"), of("x", "c")}}
	var names []string
	for _, p := range kind.Patterns([]Pattern{of("x", "d")}) {
		names = append(names, p.Name+strings.Join(p.Log, ""))
	}
	if got := strings.Join(names, " "); got != "version yb xd" {
		t.Errorf("patterns %s", got)
	}
}

func TestObserveWithoutALog(t *testing.T) {
	inst, _ := newTalking(t, "", nil)
	count := []Pattern{{Name: "n", Type: TypeCount, Log: []string{"x"}}}
	if o := Observe(t.Context(), inst, "", count)[0]; o.Value != nil || !strings.Contains(o.Missing, "logged nothing") {
		t.Errorf("an empty log: %+v", o)
	}
	inst.log += ".none"
	if o := Observe(t.Context(), inst, "", count)[0]; o.Value != nil || !strings.Contains(o.Missing, "cannot be read") {
		t.Errorf("no log: %+v", o)
	}
	inst.log = writeLog(t, "x\n\n[mxflow] log limit reached: about 12 bytes were dropped here\nx\n")
	if o := Observe(t.Context(), inst, "", count)[0]; o.Value != nil || !strings.Contains(o.Missing, "dropped") {
		t.Errorf("a cut log: %+v", o)
	}
}
