package embedded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/require"
)

func TestLogNamesTheKernels(t *testing.T) {
	for _, test := range []struct {
		name           string
		change         func(*Config)
		engaged, never []string
	}{
		{
			"defaults", nil,
			[]string{kernelPrefillCached, kernelDecodeCached, kernelMoERouted, kernelHeadF32, kernelSoftmaxSinks},
			[]string{
				kernelRecompute, kernelMoEAll, kernelHeadMXFP4, kernelSoftmaxNoSinks,
				kernelPrefixLookup, kernelPrefixReuse, kernelPromptLookup, kernelVerify,
			},
		},
		{
			"prefix cache and speculation", func(c *Config) { c.PrefixCache, c.Speculation = true, 2 },
			[]string{kernelPrefixLookup, kernelPromptLookup, kernelVerify, kernelDecodeCached},
			[]string{kernelPrefixReuse}, // there was nothing to reuse
		},
		{
			"the others", func(c *Config) { c.KVCache, c.MoE, c.LMHead, c.Sinks = false, MoEAll, LMHeadMXFP4, false },
			[]string{kernelRecompute, kernelMoEAll, kernelHeadMXFP4, kernelSoftmaxNoSinks},
			[]string{kernelPrefillCached, kernelDecodeCached, kernelMoERouted, kernelHeadF32, kernelSoftmaxSinks},
		},
	} {
		p := start(t, "", test.change)
		p.ready(t)
		post(t, p.url+"/v1/completions", paris)
		log := p.wait(t)
		for _, kernel := range test.engaged {
			if n := strings.Count(log, "using kernel "+kernel+" ("); n != 1 {
				t.Errorf("%s: %d lines say that %s is used, want 1:\n%s", test.name, n, kernel, log)
			}
		}
		for _, kernel := range test.never {
			if strings.Contains(log, kernel) {
				t.Errorf("%s: the log names %s:\n%s", test.name, kernel, log)
			}
		}
	}
}

func TestCrash(t *testing.T) {
	p := start(t, "crash_after:5", nil)
	p.ready(t)
	post(t, p.url+"/v1/completions", paris)
	if code := <-p.exits; code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if log := p.wait(t); !strings.Contains(log, "EngineCore encountered a fatal error.") {
		t.Errorf("the log does not tell:\n%s", log)
	}
}

func TestOutOfMemory(t *testing.T) {
	p := start(t, "oom", nil)
	if err := <-p.result; err == nil {
		t.Error("serve succeeded")
	}
	if log := p.log.String(); !strings.Contains(log, "torch.OutOfMemoryError: CUDA out of memory") {
		t.Errorf("the log does not tell:\n%s", log)
	}
}

func TestNeverReady(t *testing.T) {
	p := start(t, "never_ready", nil)
	for range 3 {
		if status, _ := get(t, p.url+"/health"); status != http.StatusServiceUnavailable {
			t.Errorf("/health answers %d", status)
		}
		if status, _ := post(t, p.url+"/v1/completions", paris); status != http.StatusServiceUnavailable {
			t.Errorf("completions answer %d", status)
		}
	}
	if log := p.wait(t); strings.Contains(log, "startup complete") {
		t.Errorf("the log claims readiness:\n%s", log)
	}
}

func TestFaultyAnswers(t *testing.T) {
	for fault, check := range map[string]func(status int, answer string) bool{
		"nan":      func(status int, answer string) bool { return status == 200 && strings.Contains(answer, `"!!!!!!!!"`) },
		"garbage":  func(status int, answer string) bool { return status == 200 && !strings.Contains(answer, "Paris") },
		"http_500": func(status int, answer string) bool { return status == 500 && strings.Contains(answer, `"error"`) },
		"malformed": func(status int, answer string) bool {
			return status == 200 && !strings.Contains(answer, "finish_reason")
		},
	} {
		p := start(t, fault, nil)
		p.ready(t)
		if status, answer := post(t, p.url+"/v1/completions", paris); !check(status, answer) {
			t.Errorf("%s: %d %s", fault, status, answer)
		}
		p.wait(t)
	}
}

// The first requests are told when to retry; requests for no text are not.
func TestRetryAfter(t *testing.T) {
	p := start(t, "retry_after:2", nil)
	p.ready(t)
	for i := range 4 {
		response, err := http.Post(p.url+"/v1/completions", "application/json", strings.NewReader(paris))
		require.NoError(t, err)
		response.Body.Close()
		if refused := i < 2; refused != (response.StatusCode == http.StatusTooManyRequests) || refused != (response.Header.Get("Retry-After") == "0") {
			t.Errorf("request %d gets %d, Retry-After %q", i, response.StatusCode, response.Header.Get("Retry-After"))
		}
		if status, _ := post(t, p.url+"/tokenize", `{"prompt":"a"}`); status != http.StatusOK {
			t.Errorf("/tokenize answers %d", status)
		}
	}
	if log := p.wait(t); strings.Count(log, "failed: the first 2 requests are refused (fault retry_after)") != 2 {
		t.Errorf("the log does not tell:\n%s", log)
	}
}

func TestNaNIsCounted(t *testing.T) {
	p := start(t, "nan", nil)
	p.ready(t)
	post(t, p.url+"/v1/completions", paris)
	if _, answer := get(t, p.url+"/metrics"); !strings.Contains(answer, "mxflow_embedded:corrupted_requests_total 1\n") {
		t.Error(answer)
	}
	if log := p.wait(t); !strings.Contains(log, "NaN in logits") {
		t.Error(log)
	}
}

func TestMalformedStream(t *testing.T) {
	p := start(t, "malformed", nil)
	p.ready(t)
	_, answer := post(t, p.url+"/v1/completions", `{"prompt":"The","max_tokens":3,"stream":true}`)
	if first, _, _ := strings.Cut(answer, "\n"); !strings.HasPrefix(first, "data: {") || strings.HasSuffix(first, "}") {
		t.Errorf("the first event is %q", first)
	}
	p.wait(t)
}

func TestServeRefusesABadSwitch(t *testing.T) {
	err := Serve(context.Background(), nil, environment("MXFLOW_EMBEDDED_MOE=some"), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "routed or all") {
		t.Errorf("got %v", err)
	}
}

func TestServeHelp(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Serve(context.Background(), []string{"--help"}, environment(), &out, io.Discard))
	if !strings.Contains(out.String(), "--max-model-len") {
		t.Errorf("help is %q", out.String())
	}
}

func TestServeNeedsItsPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	config := testConfig()
	config.Host, config.Port = "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
	var refused *net.OpError
	if err := serve(context.Background(), config, io.Discard, nil, nil); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

// process is serve running in a goroutine, in place of a child process.
type process struct {
	url    string
	stop   context.CancelFunc
	log    *bytes.Buffer // to be read after wait
	exits  chan int
	result chan error
}

func start(t testing.TB, fault string, change func(*Config)) *process {
	t.Helper()
	config := testConfig()
	config.Host = "127.0.0.1"
	require.NoError(t, readFaults(&config, fault))
	if change != nil {
		change(&config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{stop: cancel, log: &bytes.Buffer{}, exits: make(chan int, 8), result: make(chan error, 1)}
	address := make(chan net.Addr, 1)
	go func() {
		p.result <- serve(ctx, config, p.log, func(code int) { p.exits <- code }, func(a net.Addr) { address <- a })
	}()
	p.url = "http://" + (<-address).String()
	t.Cleanup(cancel)
	return p
}

// ready polls /health; every poll is a round trip, so it need not sleep.
func (p *process) ready(t testing.TB) {
	t.Helper()
	for {
		if status, _ := get(t, p.url+"/health"); status == http.StatusOK {
			return
		}
	}
}

// wait stops the process and returns its log.
func (p *process) wait(t testing.TB) string {
	t.Helper()
	p.stop()
	if err := <-p.result; err != nil {
		t.Errorf("serve ended with %v", err)
	}
	return p.log.String()
}

const paris = `{"prompt":"The capital of France is","max_tokens":8,"temperature":0}`
