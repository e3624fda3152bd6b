package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// maxWaiting is how many bytes the ended answers of a client keep undecoded at most.
const maxWaiting = 128 << 20

// Stream sends one request and records the answer as it arrives. The sample holds the time
// of every data event since the send, on the monotonic clock; the send is the moment before
// the request is handed to the HTTP client, so a connection that must be opened first is
// counted. The clock is read once after each read from the connection: the events that one
// read brought share its time, since the client could not have had them earlier. Bytes are
// kept as they come and decoded after the end, so decoding delays no event; only what
// a time limit, Request.Heard or the end of the answer depends on is decoded at once.
//
// Sent keeps the monotonic reading of the send, so who knows a zero on that
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
// Engines that do not know stream_options, or one of its members, reject the request; it is
// then sent again with less, and what was accepted is kept for the client's life. The
// sample is that of the last request alone.
func (c *Client) Stream(ctx context.Context, r Request) (measure.Sample, error) {
	a := newAnswer(r)
	model, err := c.model(ctx)
	if err != nil {
		return a.sample(err)
	}
	usage := usageMode(c.usage.Load())
	if !r.ContinuousUsage {
		usage = max(usage, usageFinal)
	}
	c.streaming(+1)
	for refused := false; ; refused = true {
		err = c.stream(ctx, r, model, usage, a)
		if refusesUsage(err) && usage < usageNone {
			usage++
			continue
		}
		if refused && err == nil {
			c.usage.Store(int32(usage))
		}
		break
	}
	idle := c.streaming(-1)
	if r.Ended != nil && err == nil {
		c.wait(ctx, idle, a)
	}
	return a.sample(err)
}

// Hold has answers that have ended wait until release to be decoded, as others that stream do.
func (c *Client) Hold() (release func()) {
	c.streaming(+1)
	return func() { c.streaming(-1) }
}

func (c *Client) stream(ctx context.Context, r Request, model string, usage usageMode, a *answer) error {
	path, err := r.API.path()
	if err != nil {
		return err
	}
	payload, err := c.encode(r, r.streamed(model, usage))
	if err != nil {
		return err
	}
	w := newWatch(ctx, r.Timeouts)
	defer w.close()
	req, err := c.newRequest(w.ctx, http.MethodPost, path, payload)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")

	sent := time.Now()
	w.start(sent)
	a.s.Sent = sent
	resp, resent, err := c.send(req)
	a.s.Retries = resent
	if err != nil {
		return w.explain(err, 0)
	}
	defer resp.Body.Close()
	if err := checkResponse(resp, path); err != nil {
		return err
	}
	if err := a.receive(resp.Body, w); err != nil || a.enough {
		return err
	}
	if r.Ended != nil { // the end of the body may take longer
		r.Ended()
	}
	a.drain(resp.Body, w)
	return nil
}

// usageMode is how much token counting is requested of the engine.
type usageMode int32

const (
	// usageContinuous asks for counts in every event and at the end.
	usageContinuous usageMode = iota
	// usageFinal asks for counts at the end.
	usageFinal
	// usageNone asks for nothing; counts are then usually missing.
	usageNone
)

// refusesUsage reports whether the engine rejected a request because of its
// stream_options. 422 is FastAPI's answer to unknown members.
func refusesUsage(err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	if !ok || status.Status != http.StatusBadRequest && status.Status != http.StatusUnprocessableEntity {
		return false
	}
	said := strings.ToLower(status.Body)
	return strings.Contains(said, "stream_options") || strings.Contains(said, "stream options") ||
		strings.Contains(said, "continuous_usage") || strings.Contains(said, "include_usage")
}

// deferral makes ended answers wait until no other is streaming before they are decoded.
type deferral struct {
	mu sync.Mutex
	// running is the number of answers that stream, idle is closed once it is 0.
	running int
	idle    chan struct{}
	// waiting is how many bytes the answers keep that have ended.
	waiting int
}

// streaming counts the answers that stream; idle is closed once there are none.
func (d *deferral) streaming(change int) (idle <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle == nil {
		d.idle = make(chan struct{})
	}
	idle = d.idle
	if d.running += change; d.running == 0 {
		close(d.idle)
		d.idle = nil
	}
	return idle
}

// wait returns when no answer streams any more, or when too much would be kept until then.
func (d *deferral) wait(ctx context.Context, idle <-chan struct{}, a *answer) {
	d.mu.Lock()
	fits := d.waiting+cap(a.buf) <= maxWaiting
	if fits {
		d.waiting += cap(a.buf)
	}
	d.mu.Unlock()
	if !fits {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
	d.mu.Lock()
	d.waiting -= cap(a.buf)
	d.mu.Unlock()
}
