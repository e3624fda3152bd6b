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
		_, page := get(t, p.url+"/metrics")
		_, stream := post(t, p.url+"/v1/completions", `{"prompt":"The","max_tokens":3,"stream":true}`)
		first, _, _ := strings.Cut(stream, "\n")
		if cut := strings.HasPrefix(first, "data: {") && !strings.HasSuffix(first, "}"); cut != (fault == "malformed") {
			t.Errorf("%s: the first event is %q", fault, first)
		}
		counted := strings.Contains(page, "mxflow_embedded:corrupted_requests_total 1\n")
		if told := strings.Contains(p.wait(t), "NaN in logits"); counted != (fault == "nan") || told != (fault == "nan") {
			t.Errorf("%s: counted %v, logged %v", fault, counted, told)
		}
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
