package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// keepRaw keeps what a run left behind, where that was asked for: every request
// with its events, what was sampled beside them, and what was sent when.
func (b bench) keepRaw(run int, taken steps.Taken) error {
	if b.raw == "" {
		return nil
	}
	if err := os.MkdirAll(b.raw, 0o755); err != nil {
		return b.wrong("raw", "%v", err)
	}
	samples, err := store.SamplesParquet(taken.Samples)
	if err != nil {
		return b.wrong("raw", "%v", err)
	}
	series, err := store.SeriesParquet(taken.Series)
	if err != nil {
		return b.wrong("raw", "%v", err)
	}
	cells, err := json.MarshalIndent(taken.Cells, "", "  ")
	if err != nil {
		return b.wrong("raw", "%v", err)
	}
	for name, data := range map[string][]byte{"samples.parquet": samples, "series.parquet": series, "cells.json": cells} {
		path := filepath.Join(b.raw, fmt.Sprintf("run-%d.%s", run+1, name))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return b.wrong("raw", "%v", err)
		}
	}
	return nil
}

// readDataset gives a workload the prompts of a file.
func (b bench) readDataset(w *plans.Workload) error {
	data, err := os.ReadFile(b.dataset)
	if err != nil {
		return b.wrong("dataset", "%v", err)
	}
	d, err := load.ParseDataset(b.dataset, data)
	if err != nil {
		return b.wrong("dataset", "%v", err)
	}
	sum := sha256.Sum256(data)
	w.Data = &plans.Dataset{File: b.dataset, Digest: hex.EncodeToString(sum[:]), DataRows: plans.DataRows{Count: len(d.Rows), Trace: d.Trace(), Shares: d.SharesPrefixes()}}
	w.PromptTokens, w.PromptList = nil, false
	return nil
}
