package logscan

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/require"
)

// A log of an engine, searched for 25 globs and 25 expressions: at least 20 MB/s, so
// the largest log of 256 MiB is read in a few seconds.
func BenchmarkScan(b *testing.B) {
	var log strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&log, "(EngineCore pid=%d) INFO 11-27 10:00:%02d [loggers.py:%d] Engine 000: Avg prompt throughput: %d.1 tokens/s, Running: %d reqs, Waiting: 0 reqs\n",
			4000+i%7, i%60, i%300, i, i%64)
	}
	s, err := New(nil)
	require.NoError(b, err)
	for i := range 25 {
		require.NoError(b, s.addGlob(fmt.Sprintf("*Using kernel_%d*backend*", i)))
		if _, err := s.Add(Expressions{Any: []string{fmt.Sprintf(`kernel_%d: using (?P<value>\w+) after (\d+) s`, i)}}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(log.Len()))
	for b.Loop() {
		if err := s.Read(strings.NewReader(log.String())); err != nil && err != io.EOF {
			b.Fatal(err)
		}
	}
}
