package load

import (
	"context"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// resender had to send each request twice.
type resender struct{}

func (resender) Stream(_ context.Context, r openai.Request) (measure.Sample, error) {
	return measure.Sample{Sent: time.Now(), RequestedOutput: r.MaxTokens, Retries: 1, Events: []measure.Event{{Kind: measure.KindText}}}, nil
}

// What the client itself sent again is counted with what the engine put off.
func TestRequestsThatTheClientSentAgain(t *testing.T) {
	got, err := Run(t.Context(), resender{}, Plan{Cell: "chat", Requests: 1, OutputTokens: 1, Prompts: prompt.Prompts{Measured: numbered("m", 1)}})
	if err != nil || len(got.Samples) != 1 || got.Samples[0].Retries != 1 {
		t.Errorf("%v, %+v", err, got.Samples)
	}
}
