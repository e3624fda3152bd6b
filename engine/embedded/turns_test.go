package embedded

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// openStream starts a stream that would take long and reads a number of
// events.
func openStream(t *testing.T, ctx context.Context, url string, read int) io.Closer {
	t.Helper()
	body := strings.NewReader(`{"prompt":"The capital of France is","max_tokens":60000,"ignore_eos":true,"temperature":0,"stream":true}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(response.Body)
	for seen := 0; seen < read && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			seen++
		}
	}
	return response.Body
}

func wide(c *Config) { c.MaxModelLen = 65536 }

// With one place, the second request can only be answered because the first
// client left.
func TestDisconnectFreesThePlace(t *testing.T) {
	for _, fault := range []string{"", "stall_after:3"} {
		p := start(t, fault, func(c *Config) { wide(c); c.MaxNumSeqs = 1 })
		p.ready(t)
		ctx, leave := context.WithCancel(context.Background())
		body := openStream(t, ctx, p.url, 3)
		leave()
		body.Close()
		if fault == "" {
			post(t, p.url+"/v1/completions", paris)
		} else {
			for { // stalled requests leave, too, once their client does
				if _, answer := get(t, p.url+"/metrics"); strings.Contains(answer, "mxflow_embedded:num_requests_running 0\n") {
					break
				}
			}
		}
		if log := p.wait(t); !strings.Contains(log, "aborted") {
			t.Errorf("%s: the log does not tell of the abort:\n%s", fault, log)
		}
	}
}

func TestRequestsTakeTurns(t *testing.T) {
	p := start(t, "", func(c *Config) { wide(c); c.MaxNumSeqs = 2 })
	p.ready(t)
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	body := openStream(t, ctx, p.url, 1)
	defer body.Close()
	if _, answer := post(t, p.url+"/v1/completions", paris); !strings.Contains(answer, "Paris") {
		t.Errorf("beside a running request: %s", answer)
	}
	leave()
	p.wait(t)
}

// A stop ends running requests; it does not wait for them.
func TestStopDuringAStream(t *testing.T) {
	p := start(t, "", wide)
	p.ready(t)
	body := openStream(t, context.Background(), p.url, 2)
	defer body.Close()
	if log := p.wait(t); !strings.Contains(log, "stopped") {
		t.Errorf("the log does not tell:\n%s", log)
	}
}
