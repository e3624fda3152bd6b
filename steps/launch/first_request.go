package launch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/steps/variant"
)

const (
	// firstPrompt is one or two tokens in any vocabulary. No workload prompt starts with
	// it, so no cache can profit from it.
	firstPrompt = "Hello"
	// firstTimeout is how long the first request may take if the plan does not say:
	// kernels may be compiled then.
	firstTimeout = 10 * time.Minute
)

// firstRequest asks an engine that reports ready for one token: some report it too early.
// Its time is a metric of the launch, as kernels are compiled just in time now; the first
// request of a workload, with other shapes, keeps its own limit.
func (st *Started) firstRequest(ctx context.Context, v *variant.Variant) error {
	if !answers(v.Spec) {
		return nil
	}
	limit := firstTimeout
	if e := st.Lab.Plan.Engine(v.Engine); e != nil && e.FirstTimeout > 0 {
		limit = e.FirstTimeout
	}
	r := openai.Request{Prompt: firstPrompt, MaxTokens: 1, Timeouts: openai.Timeouts{Total: limit, First: limit, Stall: limit}}
	began := time.Now()
	var sample measure.Sample
	var waited time.Duration // from the first send to the last
	var err error
	// It is busy, not broken, for as long as it says when to come back.
	for pause := time.Nanosecond; pause > 0; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		waited = time.Since(began)
		sample, err = st.Client.Stream(ctx, r)
		if pause = load.PutOff(err); time.Since(began)+pause > limit {
			break
		}
	}
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		// Some servers have only chat. If they have neither, the first error is more
		// useful.
		r.API = openai.Chat
		if chat, chatErr := st.Client.Stream(ctx, r); chatErr == nil {
			sample, err, st.API = chat, nil, openai.Chat
		}
	}
	if err != nil && ctx.Err() == nil {
		hint := "" // what to check after an answer that rejects the request itself
		switch statusOf(err) {
		case http.StatusUnauthorized, http.StatusForbidden:
			hint = "; check the key: api_key or headers of an endpoint block"
		case http.StatusNotFound, http.StatusBadRequest:
			var listed []string
			models, _ := st.Client.Models(ctx)
			for _, m := range models {
				listed = append(listed, m.ID)
			}
			if other := st.CheckModelListed(listed); other != nil {
				hint = "; " + other.Error()
			}
		}
		err = fmt.Errorf("the engine reported ready but could not answer one token: %w%s", err, hint)
	}
	if err != nil {
		return err
	}
	if n := len(sample.Events); n > 0 {
		st.perLaunch("first_request_s", (waited + sample.Events[n-1].At).Seconds())
	}
	return nil
}

// mark records the position in a server's log when the first request is sent.
func (st *Started) mark(ctx context.Context, spec engine.Spec) error {
	path := st.Inst.LogPath()
	if path == "" || !answers(spec) {
		return nil
	}
	st.settleLog(ctx)
	_, lines, err := logscan.ScanFile(path, nil)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot read the engine's log: %w", err)
	}
	st.Record.Asked = &lines
	return nil
}

// answers reports whether an engine is a server that takes requests.
func answers(spec engine.Spec) bool {
	kind, ok := kinds.Lookup(spec.Kind)
	if spec.Profile != nil {
		kind, ok = *spec.Profile, true
	}
	return ok && len(kind.Ready) > 0
}

func statusOf(err error) int {
	if status, ok := errors.AsType[*openai.StatusError](err); ok {
		return status.Status
	}
	return 0
}

// CheckModelListed is the error that the requested model is none of those that the server lists.
// Some servers answer for any name, and with another model. A tag may be left out.
func (st *Started) CheckModelListed(listed []string) error {
	asked := st.Client.Model
	if asked == "" || len(listed) == 0 || slices.Contains(listed, asked) || slices.Contains(listed, asked+":latest") {
		return nil
	}
	return fmt.Errorf("it was asked for model %q but serves \"%s\"", asked, strings.Join(listed[:min(len(listed), 5)], `", "`))
}

func Fresh(about map[string]string) bool { return about["fresh"] != "no" }
