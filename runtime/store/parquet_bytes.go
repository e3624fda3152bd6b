package store

import "github.com/mxflow/mxflow/engine/measure"

// SamplesParquet is the file that WriteSamples keeps, for who has no store.
func SamplesParquet(samples []measure.Sample) ([]byte, error) { return encodeSamples(samples) }

// SeriesParquet is the file that WriteSeries keeps.
func SeriesParquet(series []measure.Series) ([]byte, error) { return encodeSeries(series) }
