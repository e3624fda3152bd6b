package store

import (
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

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
			return nil, fmt.Errorf("series %s of %q has %d times and %d values, and must have as many", s.Name, s.Source, len(s.At), len(s.Value))
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
			return fmt.Errorf("a reading of series %d stands behind those of series %d: readings of a series must stand together", r.Series, n-1)
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
