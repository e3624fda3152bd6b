package openai

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

const (
	// readBuffer is large enough for everything that a lagging client finds
	// waiting, so that it catches up in few reads.
	readBuffer = 64 << 10
	// drainTime is how long the connection may take to end after [DONE] before
	// it is given up instead of reused.
	drainTime = 250 * time.Millisecond
	// expectedEvents bounds the room made for events beforehand.
	expectedEvents = 1 << 14
	// maxEvents and maxText bound a whole answer, in events and in bytes of text,
	// so that a server that never ends one cannot exhaust the client before a time
	// limit does. No model answers at such length.
	maxEvents = 1 << 20
	maxText   = 64 << 20
)

// Stream sends one request and watches the answer arrive. The sample holds the
// time of every data event since the send, on the monotonic clock; the send is
// the moment before the request is handed to the HTTP client, so a connection
// that must be opened first is counted. The clock is read once after each read
// from the connection: the events that one read brought share its time, since
// the client could not have had them earlier, and since times in between would
// measure this parser. The order and the shared times are kept.
//
// The sample's workload, index and warm-up mark are the caller's to fill in.
//
// On error the sample holds what had come until then, and its Err is set. The
// error is a *StatusError for an answer other than 200, a *StallError for a
// time limit, ctx's error when ctx ended, and a *StreamError for everything
// else that can be wrong with an answer; a request that could not even be built
// gives a plain error.
//
// An engine that refuses to count tokens in streams is asked again for less
// counting; see Usage. The sample is that of the last request alone.
func (c *Client) Stream(ctx context.Context, r Request) (measure.Sample, error) {
	model, err := c.model(ctx)
	if err != nil {
		return failedSample(r, err), err
	}
	mode := c.Usage()
	if !r.ContinuousUsage {
		mode = max(mode, UsageFinal)
	}
	refused := false
	for {
		s, err := c.stream(ctx, r, model, mode)
		if refusesUsage(err) && mode < UsageNone {
			refused = true
			mode++
			continue
		}
		if refused && err == nil {
			c.lower(mode)
		}
		return s, err
	}
}

func failedSample(r Request, err error) measure.Sample {
	c := newCollector(r)
	c.s.Sent = time.Now().Round(0)
	return c.sample(err)
}

func newCollector(r Request) *collector {
	c := &collector{}
	c.s = measure.Sample{PromptTokens: -1, OutputTokens: -1, CachedTokens: -1, RequestedOutput: r.MaxTokens}
	c.s.Events = make([]measure.Event, 0, min(max(r.MaxTokens, 0)+4, expectedEvents))
	return c
}

// stream makes one attempt in one mode.
func (c *Client) stream(ctx context.Context, r Request, model string, mode UsageMode) (measure.Sample, error) {
	got := newCollector(r)
	path, err := r.API.path()
	if err != nil {
		return got.sample(err), err
	}
	payload, err := r.encode(model, mode, c.Extra)
	if err != nil {
		return got.sample(err), err
	}
	w := newWatch(ctx, r.Timeouts)
	defer w.close()
	req, err := c.newRequest(w.ctx, http.MethodPost, path, payload)
	if err != nil {
		return got.sample(err), err
	}
	req.Header.Set("Accept", "text/event-stream")

	sent := time.Now()
	got.s.Sent = sent.Round(0)
	resp, err := c.HTTP.Do(req)
	if err != nil {
		err = w.explain(err, 0)
		return got.sample(err), err
	}
	defer resp.Body.Close()
	if err := checkResponse(resp, path); err != nil {
		return got.sample(err), err
	}
	if err := receive(resp.Body, sent, w, got); err != nil {
		return got.sample(err), err
	}
	drain(resp.Body, w)
	return got.sample(nil), nil
}

// checkResponse refuses an answer that is no event stream.
func checkResponse(resp *http.Response, path string) error {
	if resp.StatusCode != http.StatusOK {
		return statusError(resp, path)
	}
	kind := resp.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "text/event-stream" {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxQuoted+1))
		return &StreamError{Kind: ContentType, Detail: "content type " + quoted([]byte(kind)) + ", body " + quoted(said)}
	}
	return nil
}

// receive reads events until [DONE]. A body that ends in order after a reason to
// finish is whole as well: transformers sends no [DONE].
func receive(from io.Reader, sent time.Time, w *watch, got *collector) error {
	p := newParser()
	buf := make([]byte, readBuffer)
	for {
		n, readErr := from.Read(buf)
		at := time.Since(sent)
		before := len(got.s.Events)
		p.push(buf[:n])
		for p.next() {
			if err := take(p, at, got); err != nil {
				return err
			}
		}
		if readErr == io.EOF && p.finish() {
			if err := take(p, at, got); err != nil {
				return err
			}
		}
		events := len(got.s.Events)
		switch {
		case p.err != nil:
			return atEvent(p.err, events)
		case events > maxEvents, len(got.text)+len(got.reasoning) > maxText:
			return &StreamError{Kind: Endless, Detail: got.size(), Events: events}
		case got.done && events == 1:
			return &StreamError{Kind: Empty}
		case got.done:
			return nil
		case readErr == io.EOF && got.s.Finish != "":
			return nil
		case readErr == io.EOF:
			return &StreamError{Kind: EndedEarly, Detail: "no [DONE]", Events: events}
		case readErr != nil:
			return w.explain(readErr, events)
		case events > before:
			w.progress()
		}
	}
}

// take hands the parser's event to the collector, unless it is an error.
func take(p *parser, at time.Duration, got *collector) error {
	if p.ev.failed {
		return &StreamError{Kind: Reported, Detail: quoted(p.ev.failure), Events: len(got.s.Events)}
	}
	got.add(&p.ev, at)
	return nil
}

func atEvent(err error, events int) error {
	if s, ok := err.(*StreamError); ok {
		s.Events = events
	}
	return err
}

// drain reads what follows [DONE], which is nothing but the end of the body, so
// that the connection can be used again. A server that keeps it open loses it.
func drain(from io.Reader, w *watch) {
	t := time.AfterFunc(drainTime, func() { w.cancel(context.Canceled) })
	defer t.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(from, readBuffer))
}

func (c *Client) newRequest(ctx context.Context, method, path string, payload []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	for name, values := range c.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	// A server may close a kept connection at the very moment at which the next
	// request goes out on it; llama.cpp's does. The key without a value is not
	// sent and tells net/http that it may then open another connection: it does so
	// only where the old one had been used before and not one byte was answered.
	// The request that counts is still one, and the time of the failed attempt is
	// in it. A new connection that breaks is an error as ever.
	req.Header["Idempotency-Key"] = nil
	return req, nil
}
