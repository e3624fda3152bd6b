package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"
)

const (
	// firstTry bounds one question to the readiness endpoint. Some engines
	// generate a token to answer it, and the first one compiles kernels: a
	// question that ran out of time doubles the next one's, up to lastTry.
	firstTry = 2 * time.Second
	lastTry  = 30 * time.Second
)

// Waiter waits for the readiness of an engine on behalf of its launcher.
type Waiter struct {
	Kind   Kind
	Model  string
	Access Access
	// Started is when the engine was started, Limit how long it may take.
	Started time.Time
	Limit   time.Duration
	// Exited and Exit are the Instance's.
	Exited <-chan struct{}
	Exit   func() *Exit
	// Failure makes the error, with how the engine is doing.
	Failure func(op string, cause error, format string, args ...any) *Failure
}

// Wait asks the probes of the kind, one after the other, until each was
// answered as it should be, and returns the time since the start. It fails at
// once when the engine has ended. The error is a *Failure.
func (w Waiter) Wait(ctx context.Context) (time.Duration, error) {
	waiting, cancel := context.WithDeadline(ctx, w.Started.Add(w.Limit))
	defer cancel()
	go func() { // an engine's end also ends the question being asked
		select {
		case <-w.Exited:
			cancel()
		case <-waiting.Done():
		}
	}()
	client := &http.Client{
		// No proxy: HTTP_PROXY is for the world outside. No connection is kept,
		// so that measuring begins with none of ours open.
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: w.Access.TLS},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	probes := w.Kind.Ready
	if len(probes) == 0 {
		return time.Since(w.Started), nil
	}
	next, try, last := 0, firstTry, "none"
	fellBack := false
	for {
		probe := probes[next]
		path := probe.Path
		if fellBack {
			path = probe.Fallback
		}
		a := w.ask(waiting, client, probe, path, try)
		switch {
		case w.Exit() != nil:
		case a.status == http.StatusOK && (probe.Contains == "" || strings.Contains(a.body, probe.Contains)):
			next, fellBack, try = next+1, false, firstTry
			if next == len(probes) {
				return time.Since(w.Started), nil
			}
			continue
		case a.status == http.StatusNotFound && probe.Fallback != "" && !fellBack:
			fellBack = true
			continue
		case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
			return 0, w.Failure("become ready", nil, "it refuses the key it is asked with: %s", a.says)
		}
		if a.says == noAnswer {
			try = min(2*try, lastTry)
		}
		if waiting.Err() == nil {
			last = a.says
		}
		select {
		case <-w.Exited:
		case <-waiting.Done():
		case <-time.After(pause(time.Since(w.Started))):
			continue
		}
		return 0, w.notReady(ctx, last)
	}
}

// notReady says why waiting for readiness ended.
func (w Waiter) notReady(ctx context.Context, last string) error {
	after := brief(time.Since(w.Started))
	if exit := w.Exit(); exit != nil {
		hint := ""
		if exit.Signal == "SIGKILL" {
			hint = "; unless someone stopped it, it was probably killed for lack of memory (see dmesg)"
		}
		return w.Failure("become ready", nil, "it ended %s after its start, before it was ready%s", after, hint)
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return w.Failure("become ready", err, "waiting was cancelled %s after its start; last answer: %s", after, last)
	} else if err != nil {
		return w.Failure("become ready", err, "the time given to it was over %s after its start; last answer: %s", after, last)
	}
	return w.Failure("become ready", context.DeadlineExceeded,
		"it did not become ready within %s; last answer: %s", brief(w.Limit), last)
}

// pause is the time between two questions: a fiftieth of the time waited so
// far, so that the startup time is known to about 2 %, within bounds.
func pause(waited time.Duration) time.Duration {
	return min(max(waited/50, 5*time.Millisecond), 250*time.Millisecond)
}

const noAnswer = "none in time"

// answer is what came of asking once; status is 0 without an answer, and says
// describes it.
type answer struct {
	status     int
	body, says string
}

// readyBody is how much of an answer is looked at.
const readyBody = 64 << 10

func (w Waiter) ask(ctx context.Context, client *http.Client, probe Probe, path string, limit time.Duration) answer {
	if probe.Slow {
		limit = w.Limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	method, body := http.MethodGet, http.NoBody
	var send io.Reader = body
	if probe.Body != "" {
		method = http.MethodPost
		name, _ := json.Marshal(w.Model)
		send = strings.NewReader(strings.ReplaceAll(probe.Body, `"{model}"`, string(name)))
	}
	req, err := http.NewRequestWithContext(ctx, method, w.Access.BaseURL+path, send)
	if err != nil {
		return answer{says: err.Error()}
	}
	for name, values := range w.Access.Header {
		req.Header[name] = values
	}
	if probe.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return answer{says: "connection refused"}
	case ctx.Err() != nil:
		return answer{says: noAnswer}
	case err != nil:
		return answer{says: cleanLine([]byte(err.Error()))}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, readyBody))
	a := answer{status: resp.StatusCode, body: string(text)}
	a.says = fmt.Sprintf("%s to %s %s", resp.Status, method, req.URL.Path)
	short := text[:min(len(text), 200)]
	if line := cleanLine([]byte(strings.Join(strings.Fields(string(short)), " "))); line != "" {
		a.says += ": " + line
	}
	return a
}
