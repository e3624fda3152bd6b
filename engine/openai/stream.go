package openai

import (
	"context"
	"net/http"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Stream sends one request and watches the answer arrive. The sample holds the
// time of every data event since the send, on the monotonic clock; the send is
// the moment before the request is handed to the HTTP client, so a connection
// that must be opened first is counted. The clock is read once after each read
// from the connection: the events that one read brought share its time, since
// the client could not have had them earlier, and since times in between would
// measure this parser. The order and the shared times are kept.
//
// Sent keeps the monotonic reading of the send, so that who knows a zero on that
// clock can place it there; stored, it is the wall clock alone.
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
	c.s.Sent = time.Now()
	return c.sample(err)
}

// stream makes one attempt in one mode.
func (c *Client) stream(ctx context.Context, r Request, model string, mode UsageMode) (measure.Sample, error) {
	got := newCollector(r)
	path, err := r.API.path()
	if err != nil {
		return got.sample(err), err
	}
	payload, err := c.encode(r, model, mode)
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
	w.start(sent)
	got.s.Sent = sent
	resp, again, err := c.send(req)
	got.s.Retries, got.doubts.again = again, again
	if err != nil {
		err = w.explain(err, 0)
		return got.sample(err), err
	}
	defer resp.Body.Close()
	if err := checkResponse(resp, path); err != nil {
		return got.sample(err), err
	}
	forget(req)
	err = receive(resp.Body, w, got)
	return got.sample(err), err
}

func (c *Client) newRequest(ctx context.Context, method, path string, payload []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	if len(payload) > 0 {
		sendOnce(req, payload)
	}
	for name, values := range c.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	// Saying nothing would leave the choice to proxies, and compressing holds
	// events back.
	req.Header.Set("Accept-Encoding", "identity")
	// The key without a value is not sent, and tells net/http that it may open
	// another connection where the server closed a kept one; see send.
	req.Header["Idempotency-Key"] = nil
	return req, nil
}
