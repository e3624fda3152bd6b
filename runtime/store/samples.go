package store

import (
	"fmt"

	"github.com/parquet-go/parquet-go"

	"github.com/mxflow/mxflow/engine/measure"
)

// samplesKind are files of raw samples.
var samplesKind = parquetKind{key: "mxflow.samples", what: "raw samples", version: "2"}

// WriteSamples stores raw samples as a Parquet artifact, the same bytes for the
// same samples. They come back from ReadSamples as they were, except that Sent
// is in UTC without a monotonic reading, and an empty list of events is nil.
func (s *Store) WriteSamples(samples []measure.Sample) (sum string, err error) {
	data, err := encodeSamples(samples)
	if err != nil {
		return "", err
	}
	return s.Put(data)
}

// ReadSamples returns the samples that WriteSamples stored under a digest.
func (s *Store) ReadSamples(sum string) ([]measure.Sample, error) {
	data, err := s.Get(sum)
	if err != nil {
		return nil, err
	}
	samples, err := decodeSamples(data)
	if err != nil {
		return nil, fmt.Errorf("artifact %s: %w", sum, err)
	}
	return samples, nil
}

func encodeSamples(samples []measure.Sample) ([]byte, error) {
	rows := make([]sampleRow, len(samples))
	for i, sample := range samples {
		row, err := toRow(sample)
		if err != nil {
			return nil, fmt.Errorf("sample %d of %s: %w", sample.Index, sample.Workload, err)
		}
		rows[i] = row
	}
	return writeParquet(samplesKind, rows, parquet.KeyValueMetadata("mxflow.samples.kinds", "0 other, 1 text, 2 reasoning, 3 usage, 4 done, 5 tool"))
}

func decodeSamples(data []byte) (samples []measure.Sample, err error) {
	err = readParquet(samplesKind, data, 64, func(row *sampleRow) error {
		sample, err := row.sample()
		samples = append(samples, sample)
		return err
	})
	if err != nil {
		return nil, err
	}
	return samples, nil
}
