package launch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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
	if e := st.Lab.Variants.Plan.Engine(v.Engine); e != nil && e.FirstTimeout > 0 {
		limit = e.FirstTimeout
	}
	r := openai.Request{
		Prompt: firstPrompt, MaxTokens: 1,
		Timeouts: openai.Timeouts{Total: limit, First: limit, Stall: limit},
	}
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
		hint := ""
		if status := statusOf(err); status == http.StatusUnauthorized || status == http.StatusForbidden {
			hint = "; check the key: api_key or headers of an endpoint block"
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
	var log logscan.Scan
	if err := log.File(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot read the engine's log: %w", err)
	}
	st.Record.Asked = new(log.Lines())
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

// listModels asks a server that is ready for its models, if it lists them. The error is
// that the requested one is not among them: some servers answer for any name, with another
// model.
func (st *Started) listModels(ctx context.Context, v *variant.Variant) error {
	if !answers(v.Spec) {
		return nil
	}
	st.Models, _ = st.Client.Models(ctx)
	return ModelListed(st.Client.Model, st.Models)
}

// ModelListed is the error that a server lists models, but not the requested one.
func ModelListed(asked string, models []openai.Model) error {
	// Ollama's tag may be left out, transformers' revision is part of no name, and
	// trtllm-serve names a folder's model by its last element.
	name, _, _ := strings.Cut(asked, "@")
	names := []string{asked, asked + ":latest", name}
	if filepath.IsAbs(asked) || strings.HasPrefix(asked, ".") || strings.HasPrefix(asked, "~") {
		names = append(names, filepath.Base(asked))
	}
	var listed []string
	for _, m := range models {
		if asked == "" || slices.Contains(names, m.ID) {
			return nil
		}
		listed = append(listed, strconv.Quote(m.ID))
	}
	if len(listed) == 0 {
		return nil
	}
	return &verdict.Fault{Reason: verdict.New(code.WrongModel, verdict.Text("model", asked),
		verdict.Text("models", strings.Join(listed[:min(len(listed), 5)], ", ")))}
}

func Fresh(about map[string]string) bool { return about["fresh"] != "no" }
