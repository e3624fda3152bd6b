package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// rawName is a file of one run in the folder of --raw.
func (b bench) rawName(run int, what string) string {
	return filepath.Join(b.raw, fmt.Sprintf("run-%d.%s", run+1, what))
}

// openRaw makes the folder of --raw and sees that files can be written there,
// before anything is measured. A folder with the runs of another measurement is
// refused: where there were more of them, the rest would pass for these.
func (b bench) openRaw() error {
	if b.raw == "" {
		return nil
	}
	if err := os.MkdirAll(b.raw, 0o755); err != nil {
		return b.wrong("raw", "%v", err)
	}
	if _, err := os.Stat(b.rawName(0, samplesFile)); !errors.Is(err, fs.ErrNotExist) {
		return b.wrong("raw", "%s holds the runs of another measurement: choose another folder, or empty it", b.raw)
	}
	probe, err := os.CreateTemp(b.raw, ".mxflow-bench-*")
	if err != nil {
		return b.wrong("raw", "%v", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

const samplesFile, seriesFile, cellsFile = "samples.parquet", "series.parquet", "cells.json"

// keepRaw keeps what a run left behind, where that was asked for: every request
// with its events, what was sampled beside them, and what was sent when.
func (b bench) keepRaw(run int, taken steps.Taken) error {
	if b.raw == "" {
		return nil
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
	// The samples come last: where they are, the others are too.
	for _, f := range []struct {
		name string
		data []byte
	}{{seriesFile, series}, {cellsFile, append(cells, '\n')}, {samplesFile, samples}} {
		out, err := openOut(b.rawName(run, f.name))
		if err == nil {
			err = out.write(f.data)
		}
		if err != nil {
			return b.wrong("raw", "%v", err)
		}
	}
	return nil
}
