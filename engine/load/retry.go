package load

import (
	"errors"
	"net/http"
	"time"

	"github.com/mxflow/mxflow/engine/openai"
)

// PutOff is how long an engine asks to wait before a request is sent again; 0
// is any other error. Without a time to wait, sending again would be guessing.
func PutOff(err error) time.Duration {
	var status *openai.StatusError
	if !errors.As(err, &status) {
		return 0
	}
	switch status.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return max(status.RetryAfter, 0)
	}
	return 0
}

// wait waits for as long as the engine asked, if the request's limits since its
// first send allow it, and leaves in rest what they allow after that.
func (r *runner) wait(err error, limits openai.Timeouts, sent time.Time, rest *openai.Timeouts) bool {
	pause := PutOff(err)
	if pause == 0 {
		return false
	}
	left := func(limit time.Duration) (time.Duration, bool) {
		if limit == 0 {
			return 0, true
		}
		after := limit - time.Since(sent) - pause
		return after, after > 0
	}
	var total, first bool
	rest.Total, total = left(limits.Total)
	rest.First, first = left(limits.First)
	if !total || !first {
		return false
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.ctx.Done():
		return false
	}
}
