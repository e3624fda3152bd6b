package engine

import (
	"context"
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

// Ready implements Instance.
func (p *process) Ready(ctx context.Context) error {
	limit := p.started.Add(p.spec.ReadyTimeout)
	waiting, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	go func() { // an engine's end also ends the question being asked
		select {
		case <-p.child.exited:
			cancel()
		case <-waiting.Done():
		}
	}()
	client := &http.Client{
		// No proxy: HTTP_PROXY is for the world outside. No connection is kept,
		// so that measuring begins with none of ours open.
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	path, try, last := p.kind.ReadyPath, firstTry, "none"
	for {
		status, answer := ask(waiting, client, p.url+path, try)
		switch {
		case status == http.StatusOK && p.Exit() == nil:
			p.startup.CompareAndSwap(0, int64(time.Since(p.started)))
			return nil
		case status == http.StatusNotFound && p.kind.ReadyFallback != "" && path != p.kind.ReadyFallback:
			path = p.kind.ReadyFallback
			continue
		}
		if answer == noAnswer {
			try = min(2*try, lastTry)
		}
		if waiting.Err() == nil {
			last = answer
		}
		select {
		case <-p.child.exited:
		case <-waiting.Done():
		case <-time.After(pause(time.Since(p.started))):
			continue
		}
		return p.notReady(ctx, last)
	}
}

// notReady says why waiting for readiness ended.
func (p *process) notReady(ctx context.Context, last string) error {
	after := brief(time.Since(p.started))
	if exit := p.Exit(); exit != nil {
		hint := ""
		if exit.Signal == "SIGKILL" {
			hint = "; unless someone stopped it, it was probably killed for lack of memory (see dmesg)"
		}
		return p.failure("become ready", nil, "it ended %s after its start, before it was ready%s", after, hint)
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return p.failure("become ready", err, "waiting was cancelled %s after its start; last answer: %s", after, last)
	} else if err != nil {
		return p.failure("become ready", err, "the time given to it was over %s after its start; last answer: %s", after, last)
	}
	return p.failure("become ready", context.DeadlineExceeded,
		"it did not become ready within %s; last answer: %s", brief(p.spec.ReadyTimeout), last)
}

// pause is the time between two questions: a fiftieth of the time waited so
// far, so that the startup time is known to about 2 %, within bounds.
func pause(waited time.Duration) time.Duration {
	return min(max(waited/50, 5*time.Millisecond), 250*time.Millisecond)
}

const noAnswer = "none in time"

// ask asks once; status is 0 without an answer, and answer describes it.
func ask(ctx context.Context, client *http.Client, url string, limit time.Duration) (status int, answer string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := client.Do(req)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return 0, "connection refused"
	case ctx.Err() != nil:
		return 0, noAnswer
	case err != nil:
		return 0, cleanLine([]byte(err.Error()))
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	answer = fmt.Sprintf("%s to GET %s", resp.Status, req.URL.Path)
	if text := cleanLine([]byte(strings.Join(strings.Fields(string(body)), " "))); text != "" {
		answer += ": " + text
	}
	return resp.StatusCode, answer
}
