package store

import (
	"fmt"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// samplesKind are files of raw samples.
var samplesKind = parquetKind{key: "mxflow.samples", what: "raw samples", version: "3"}

// WriteSamples stores the raw samples of a launch of a run as a Parquet artifact, the same
// bytes for the same samples, and names it in the launch's record. They come back from ReadSamples as they were, except that Sent
// is in UTC without a monotonic reading, and an empty list of events is nil.
func (s *Store) WriteSamples(run string, of *ledger.Launch, samples []measure.Sample) (err error) {
	of.Samples, err = putAs(s, Origin{run, of.ID, of.VariantKey}, samples, SamplesParquet)
	return err
}

// ReadSamples returns the samples that a launch of the ledger names. Those of another launch are a
// *verdict.Fault (code.RawOfAnother).
func (s *Store) ReadSamples(of *ledger.Launch) ([]measure.Sample, error) {
	return getAs(s, s.Origin(of), of.Samples, decodeSamples)
}

// SamplesParquet is the file that WriteSamples keeps.
func SamplesParquet(of Origin, samples []measure.Sample) ([]byte, error) {
	rows := make([]sampleRow, len(samples))
	for i, sample := range samples {
		row, err := toRow(sample)
		if err != nil {
			return nil, fmt.Errorf("sample %d of %s: %w", sample.Index, sample.Workload, err)
		}
		rows[i] = row
	}
	return writeParquet(samplesKind, of, rows, parquet.KeyValueMetadata("mxflow.samples.kinds", "0 other, 1 text, 2 reasoning, 3 usage, 4 done, 5 tool, 6 blank"))
}

func decodeSamples(of Origin, data []byte) (samples []measure.Sample, err error) {
	err = readParquet(samplesKind, of, data, 64, func(row *sampleRow) error {
		sample, err := row.sample()
		samples = append(samples, sample)
		return err
	})
	if err != nil {
		return nil, err
	}
	return samples, nil
}

// sampleRow is the schema of raw samples: one row a request, in the order in
// which they were given, Parquet with zstd. The lists at_ns, kind, tokens and
// bytes have one element an event and belong together by position. -1 means
// unknown, as in measure.Sample. kind counts as measure.Kind does: 0 other,
// 1 text, 2 reasoning, 3 usage, 4 done, 5 tool, 6 blank; the file's key mxflow.samples.kinds
// says so too. sent_ns is the wall clock in UTC, null when not set.
type sampleRow struct {
	Workload        string  `parquet:"workload,dict"`
	Index           int64   `parquet:"index"`
	Warmup          bool    `parquet:"warmup"`
	Sent            *int64  `parquet:"sent_ns,optional,timestamp(nanosecond)"`
	PromptTokens    int64   `parquet:"prompt_tokens"`
	OutputTokens    int64   `parquet:"output_tokens"`
	CachedTokens    int64   `parquet:"cached_tokens"`
	RequestedOutput int64   `parquet:"requested_output"`
	TokenSource     string  `parquet:"token_source,dict"`
	Finish          string  `parquet:"finish,dict"`
	Text            string  `parquet:"text"`
	Reasoning       string  `parquet:"reasoning"`
	Tools           string  `parquet:"tools"`
	Doubts          string  `parquet:"doubts"`
	Err             string  `parquet:"error"`
	Context         bool    `parquet:"context"`
	Turn            int64   `parquet:"turn"`
	Scheduled       int64   `parquet:"scheduled_ns"`
	Due             int64   `parquet:"due_ns"`
	Start           int64   `parquet:"start_ns"`
	OpenLoop        bool    `parquet:"open_loop"`
	Retries         int64   `parquet:"retries"`
	Status          int64   `parquet:"status"`
	RequestedPrompt int64   `parquet:"requested_prompt"`
	ContextTokens   int64   `parquet:"context_tokens"`
	PromptBytes     int64   `parquet:"prompt_bytes"`
	PromptSum       string  `parquet:"prompt_sum"`
	Late            int64   `parquet:"late_ns"`
	At              []int64 `parquet:"at_ns,list"`
	Kind            []int32 `parquet:"kind,list"`
	Tokens          []int64 `parquet:"tokens,list"`
	Bytes           []int64 `parquet:"bytes,list"`
}

func toRow(s measure.Sample) (sampleRow, error) {
	r := sampleRow{
		Workload: s.Workload, Index: int64(s.Index), Warmup: s.Warmup,
		PromptTokens: int64(s.PromptTokens), OutputTokens: int64(s.OutputTokens), CachedTokens: int64(s.CachedTokens), RequestedOutput: int64(s.RequestedOutput),
		TokenSource: string(s.TokenSource), Finish: s.Finish, Text: s.Text, Reasoning: s.Reasoning, Tools: s.Tools, Doubts: s.Doubts, Err: s.Err,
		Context: s.Context, Turn: int64(s.Turn), Scheduled: int64(s.Scheduled), Due: int64(s.Due), Start: int64(s.Start), OpenLoop: s.OpenLoop,
		Retries: int64(s.Retries), Status: int64(s.Status), RequestedPrompt: int64(s.RequestedPrompt), ContextTokens: int64(s.ContextTokens),
		PromptBytes: int64(s.PromptBytes), PromptSum: s.PromptSum, Late: int64(s.Late),
	}
	if !s.Sent.IsZero() {
		ns := s.Sent.UnixNano()
		if !time.Unix(0, ns).Equal(s.Sent) {
			return r, fmt.Errorf("sent at %s, outside the range of nanoseconds since 1970", s.Sent)
		}
		r.Sent = &ns
	}
	for _, e := range s.Events {
		r.At = append(r.At, int64(e.At))
		r.Kind = append(r.Kind, int32(e.Kind))
		r.Tokens = append(r.Tokens, int64(e.Tokens))
		r.Bytes = append(r.Bytes, int64(e.Bytes))
	}
	return r, nil
}

func (r *sampleRow) sample() (measure.Sample, error) {
	s := measure.Sample{
		Workload: r.Workload, Index: int(r.Index), Warmup: r.Warmup,
		PromptTokens: int(r.PromptTokens), OutputTokens: int(r.OutputTokens), CachedTokens: int(r.CachedTokens), RequestedOutput: int(r.RequestedOutput),
		TokenSource: measure.TokenSource(r.TokenSource), Finish: r.Finish, Text: r.Text, Reasoning: r.Reasoning, Tools: r.Tools, Doubts: r.Doubts, Err: r.Err,
		Context: r.Context, Turn: int(r.Turn), Scheduled: time.Duration(r.Scheduled), Due: time.Duration(r.Due), Start: time.Duration(r.Start), OpenLoop: r.OpenLoop,
		Retries: int(r.Retries), Status: int(r.Status), RequestedPrompt: int(r.RequestedPrompt), ContextTokens: int(r.ContextTokens),
		PromptBytes: int(r.PromptBytes), PromptSum: r.PromptSum, Late: time.Duration(r.Late),
	}
	if r.Sent != nil {
		s.Sent = time.Unix(0, *r.Sent).UTC()
	}
	if len(r.Kind) != len(r.At) || len(r.Tokens) != len(r.At) || len(r.Bytes) != len(r.At) {
		return s, fmt.Errorf("sample %d of %s: at_ns, kind, tokens and bytes have %d, %d, %d and %d elements, which must be equal", r.Index, r.Workload, len(r.At), len(r.Kind), len(r.Tokens), len(r.Bytes))
	}
	for i := range r.At {
		if r.Kind[i] < 0 || r.Kind[i] > 255 {
			return s, fmt.Errorf("sample %d of %s: event %d has the kind %d", r.Index, r.Workload, i, r.Kind[i])
		}
		s.Events = append(s.Events, measure.Event{At: time.Duration(r.At[i]), Kind: measure.Kind(r.Kind[i]), Tokens: int(r.Tokens[i]), Bytes: int(r.Bytes[i])})
	}
	return s, nil
}

// seriesKind are files of what was sampled beside requests.
var seriesKind = parquetKind{key: "mxflow.series", what: "sampled series", version: "2"}

// seriesRow is the schema of sampled series: one row a reading, Parquet with
// zstd, so that a notebook filters by name and plots. series counts the series of
// the file from 0, whose readings stand together; name, source and unit are as in
// measure.Series. at_ns counts from the recording's zero, which is that of
// scheduled_ns, due_ns and start_ns of raw samples.
type seriesRow struct {
	Series int32   `parquet:"series"`
	Name   string  `parquet:"name,dict"`
	Source string  `parquet:"source,dict"`
	Unit   string  `parquet:"unit,dict"`
	At     int64   `parquet:"at_ns,delta"`
	Value  float64 `parquet:"value"`
}

// WriteSeries stores what was sampled in a launch of a run as a Parquet artifact, the same
// bytes for the same series, and names it in the launch's record. They come back from ReadSeries as they were and in their order, but
// for those without readings, which say nothing.
func (s *Store) WriteSeries(run string, of *ledger.Launch, series []measure.Series) (err error) {
	of.Series, err = putAs(s, Origin{run, of.ID, of.VariantKey}, series, SeriesParquet)
	return err
}

// ReadSeries returns the series that a launch of the ledger names. Those of another launch are a
// *verdict.Fault (code.RawOfAnother).
func (s *Store) ReadSeries(of *ledger.Launch) ([]measure.Series, error) {
	return getAs(s, s.Origin(of), of.Series, decodeSeries)
}

// SeriesParquet is the file that WriteSeries keeps.
func SeriesParquet(of Origin, series []measure.Series) ([]byte, error) {
	var rows []seriesRow
	n := int32(0)
	for _, s := range series {
		if len(s.At) != len(s.Value) {
			return nil, fmt.Errorf("series %s of %q has %d times but %d values", s.Name, s.Source, len(s.At), len(s.Value))
		}
		for i, at := range s.At {
			rows = append(rows, seriesRow{n, s.Name, s.Source, s.Unit, int64(at), s.Value[i]})
		}
		if len(s.At) > 0 {
			n++
		}
	}
	return writeParquet(seriesKind, of, rows)
}

func decodeSeries(of Origin, data []byte) (series []measure.Series, err error) {
	err = readParquet(seriesKind, of, data, 1024, func(r *seriesRow) error {
		n := int32(len(series))
		switch {
		case r.Series == n:
			series = append(series, measure.Series{Name: r.Name, Source: r.Source, Unit: r.Unit})
		case r.Series != n-1 || n == 0:
			return fmt.Errorf("a reading of series %d follows those of series %d: readings of a series must be contiguous", r.Series, n-1)
		}
		s := &series[r.Series]
		if s.Name != r.Name || s.Source != r.Source || s.Unit != r.Unit {
			return fmt.Errorf("series %d is called %s (%q, %s) and %s (%q, %s)", r.Series, s.Name, s.Source, s.Unit, r.Name, r.Source, r.Unit)
		}
		s.At, s.Value = append(s.At, time.Duration(r.At)), append(s.Value, r.Value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return series, nil
}
