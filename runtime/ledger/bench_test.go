package ledger

import (
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkAppend is what a durable record costs: encoding, tree, one write,
// one fsync, one checkpoint for each batch.
func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			l, err := Open(filepath.Join(b.TempDir(), "ledger"))
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			n := 0
			for b.Loop() {
				recs := make([]*Record, batch)
				for i := range recs {
					n++
					recs[i] = decision("r", "n", n)
				}
				if err := l.Append(recs...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/record")
		})
	}
}

// BenchmarkOpen verifies and decodes a ledger of 10,000 decisions.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ledger")
	l, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Append(nodes(10_000)...); err != nil {
		b.Fatal(err)
	}
	l.Close()
	b.SetBytes(l.size)
	for b.Loop() {
		l, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}
