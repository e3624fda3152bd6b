package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/mxflow/mxflow/engine/endpoint"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// perCell is how many requests a cell measures in a run, where nobody says:
// enough of them that a fully busy server is most of the time.
func (b bench) perCell() int {
	if b.requests > 0 {
		return b.requests
	}
	most := slices.Max(b.concurrency)
	if len(b.rate) > 0 {
		most = int(slices.Max(b.rate)) * 4
	}
	return min(max(8*most, 8), 256)
}

// workload is what one run sends.
func (b bench) workload(run int) (*plans.Workload, error) {
	limits, err := b.limits()
	if err != nil {
		return nil, err
	}
	w := plans.NewWorkload("bench")
	w.PromptTokens, w.PromptList, w.OutputTokens, w.OutputList = b.pp, true, b.tg, true
	w.Depth, w.DepthList, w.DepthCached = b.depth, true, b.depthCached
	w.Requests, w.Warmup, w.API, w.Temperature, w.Seed = b.perCell(), b.warmup, b.api, b.temperature, (b.seed+run)&0x7fffffff
	w.IgnoreEOS, w.LatencyCorrection, w.SLO = !b.eos, b.correction, limits
	w.RequestTimeout, w.FirstTimeout, w.StallTimeout = b.requestTimeout, b.firstTimeout, b.requestTimeout
	w.Coherence = "off"
	if b.eos {
		w.Coherence = "absolute"
	}
	if b.maxLag > 0 {
		w.MaxLag = b.maxLag
	}
	if b.randomTokens {
		w.Prompts = "random"
	}
	if len(b.rate) > 0 {
		w.Concurrency, w.Rate, w.RateList, w.Arrival, w.MaxConcurrency = nil, b.rate, true, b.arrival, b.maxConcurrency
	} else {
		w.Concurrency, w.ConcurrencyList = b.concurrency, true
	}
	if b.data != nil {
		w.Data, w.PromptTokens, w.PromptList = b.data, nil, false
		if b.data.Unanswered == 0 {
			w.OutputTokens, w.OutputList = nil, false
		}
	}
	return w, nil
}

// readDataset reads the file of --dataset and sees that what is asked for can be
// sent from it. answers says that --tg was given.
func (b *bench) readDataset(answers bool) error {
	if b.dataset == "" {
		return nil
	}
	if _, err := os.Stat(b.dataset); errors.Is(err, fs.ErrNotExist) {
		return b.wrong("dataset", "%s is not there", b.dataset)
	}
	d, err := load.ReadDataset(b.dataset, steps.DatasetRows)
	if err != nil {
		return b.wrong("dataset", "%v", err)
	}
	b.data = d
	if d.Chat > 0 && b.api != "chat" {
		return b.wrong("dataset", "line %d of %s can only be sent as a chat: add --api chat", d.Chat, b.dataset)
	}
	if d.Unanswered == 0 && answers {
		return b.wrong("dataset", "every row of %s says how long its answer is: leave out --tg", b.dataset)
	}
	w, err := b.workload(0)
	if err != nil {
		return err
	}
	for _, c := range w.Cells() {
		rows := c.Requests
		if !d.Trace {
			rows += c.Warmup
		}
		if rows > d.Count {
			return b.wrong("dataset", "%s has %d rows, and %d requests and %d for warm-up are to be sent, no row twice: lower --requests or --warmup", b.dataset, d.Count, c.Requests, c.Warmup)
		}
	}
	return nil
}

// sent is the dataset that is sent; nil where prompts are made.
func (b bench) sent() *benchDataset {
	if b.data == nil {
		return nil
	}
	return &benchDataset{File: b.dataset, Digest: b.data.Digest, Rows: b.data.Count}
}

// key is the API key, empty where none was asked for.
func (b bench) key() (string, error) {
	if b.keyEnv == "" {
		return "", nil
	}
	key := os.Getenv(b.keyEnv)
	if key == "" {
		return "", b.wrong("api-key-env", "the environment variable %s is not set", b.keyEnv)
	}
	if err := endpoint.CheckKey(key); err != nil {
		return "", b.wrong("api-key-env", "the value of %s cannot be sent: %v", b.keyEnv, err)
	}
	return key, nil
}
