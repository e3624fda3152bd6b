package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// samplesKind are files of raw samples: one row a request, in the order in which they were given, with the columns
// that measure.Sample names. -1 means unknown there, and sent_ns is the wall clock in UTC, null when not set.
var samplesKind = parquetKind{key: "mxflow.samples", what: "raw samples", version: "4"}

// WriteSamples stores the raw samples of a launch of a run as a Parquet artifact, the same
// bytes for the same samples, and names it in the launch's record. They come back from ReadSamples as they
// were, except that Sent is in UTC without a monotonic reading, and an empty list of events is nil.
func (s *Store) WriteSamples(run string, of *ledger.Launch, samples []measure.Sample) error {
	data, err := SamplesParquet(Origin{run, of.ID, of.VariantKey}, samples)
	if err == nil {
		of.Samples, err = s.Put(data)
	}
	return err
}

// ReadSamples returns the samples that a launch of the ledger names. Those of another launch are a
// *verdict.Fault (code.RawOfAnother).
func (s *Store) ReadSamples(of *ledger.Launch) ([]measure.Sample, error) {
	samples, err := readParquet[measure.Sample](s, samplesKind, of, of.Samples)
	for i := range samples {
		samples[i].Sent = samples[i].Sent.UTC()
		if len(samples[i].Events) == 0 {
			samples[i].Events = nil
		}
	}
	return samples, err
}

func SamplesParquet(of Origin, samples []measure.Sample) ([]byte, error) {
	for _, s := range samples {
		if !s.Sent.IsZero() && !time.Unix(0, s.Sent.UnixNano()).Equal(s.Sent) {
			return nil, fmt.Errorf("sample %d of %s: sent at %s, outside the range of nanoseconds since 1970", s.Index,
				s.Workload, s.Sent)
		}
	}
	const kinds = "0 other, 1 text, 2 reasoning, 3 usage, 4 done, 5 tool, 6 blank"
	return writeParquet(samplesKind, of, samples, parquet.KeyValueMetadata("mxflow.samples.kinds", kinds))
}

// seriesKind is the Parquet form of telemetry: one row per series, with the columns that
// measure.Series names. at_ns counts from the recording's zero, which is that of
// scheduled_ns, due_ns and start_ns of raw samples.
var seriesKind = parquetKind{key: "mxflow.series", what: "sampled series", version: "3"}

// WriteSeries stores what was sampled in a launch of a run as a Parquet artifact, the same
// bytes for the same series, and names it in the launch's record. They come back from ReadSeries as they
// were and in their order, but for those without readings, which say nothing.
func (s *Store) WriteSeries(run string, of *ledger.Launch, series []measure.Series) error {
	data, err := SeriesParquet(Origin{run, of.ID, of.VariantKey}, series)
	if err == nil {
		of.Series, err = s.Put(data)
	}
	return err
}

// ReadSeries returns the series that a launch of the ledger names. Those of another launch are a
// *verdict.Fault (code.RawOfAnother).
func (s *Store) ReadSeries(of *ledger.Launch) ([]measure.Series, error) {
	series, err := readParquet[measure.Series](s, seriesKind, of, of.Series)
	for _, one := range series {
		if len(one.At) != len(one.Value) {
			return nil, fmt.Errorf("artifact %s: series %s of %q has %d times but %d values", of.Series, one.Name,
				one.Source, len(one.At), len(one.Value))
		}
	}
	return series, err
}

func SeriesParquet(of Origin, series []measure.Series) ([]byte, error) {
	for _, s := range series {
		if len(s.At) != len(s.Value) {
			return nil,
				fmt.Errorf("series %s of %q has %d times but %d values", s.Name, s.Source, len(s.At), len(s.Value))
		}
	}
	read := slices.DeleteFunc(slices.Clone(series), func(s measure.Series) bool { return len(s.At) == 0 })
	return writeParquet(seriesKind, of, read)
}
