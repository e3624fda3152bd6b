package openai

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// LatencyMode says which latency is measured, in the words of llama-benchy,
// whose numbers are corrected by it. Numbers of different modes do not compare.
type LatencyMode string

const (
	// LatencyNone measures nothing: 0.
	LatencyNone LatencyMode = "none"
	// LatencyAPI is the time of GET /v1/models, from the send to the end of the
	// answer: the network and the server, without the model.
	LatencyAPI LatencyMode = "api"
	// LatencyGeneration is the time from the send of a chat with the message
	// "hello" and one token to generate to its first event, whatever that holds.
	// llama-benchy stops at the first line, which may be a comment. The message is
	// the same each time: a prefix cache is not kept out.
	LatencyGeneration LatencyMode = "generation"
)

// LatencyProbes is how often llama-benchy asks.
const LatencyProbes = 3

// latencyLimit bounds a probe. What takes longer is no latency to correct by.
const latencyLimit = time.Minute

// Latency measures n times, one after the other, and returns the mean and what
// it is the mean of. One more probe goes before, which is not counted, so that no
// connection is opened within the others and nothing is compiled: llama-benchy
// has sent other requests by then. Where it leaves failed probes out and takes 0
// when all fail, one that fails is an error here. An unknown mode is one as well.
func (c *Client) Latency(ctx context.Context, mode LatencyMode, n int) (mean time.Duration, probes []time.Duration, err error) {
	var probe func(context.Context) (time.Duration, error)
	switch mode {
	case LatencyNone:
		return 0, nil, nil
	case LatencyAPI:
		probe = c.apiLatency
	case LatencyGeneration:
		probe = c.generationLatency
	default:
		return 0, nil, fmt.Errorf("unknown latency mode %q: use %q, %q or %q", string(mode), LatencyNone, LatencyAPI, LatencyGeneration)
	}
	if n < 1 {
		return 0, nil, fmt.Errorf("%d latency probes: at least 1 is needed", n)
	}
	var sum time.Duration
	for i := range n + 1 {
		took, err := probe(ctx)
		if err != nil {
			return 0, nil, fmt.Errorf("measuring the latency %q, probe %d of %d: %w", mode, i+1, n+1, err)
		}
		if i > 0 {
			probes, sum = append(probes, took), sum+took
		}
	}
	return sum / time.Duration(n), probes, nil
}

func (c *Client) apiLatency(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, latencyLimit)
	defer cancel()
	_, took, err := c.ask(ctx, http.MethodGet, "/v1/models", nil)
	return took, err
}

func (c *Client) generationLatency(ctx context.Context) (time.Duration, error) {
	s, err := c.Stream(ctx, Request{
		API: Chat, Prompt: "hello", MaxTokens: 1,
		Timeouts: Timeouts{Total: latencyLimit},
	})
	if err != nil {
		return 0, err
	}
	return s.Events[0].At, nil
}
