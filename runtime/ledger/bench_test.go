package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/runtime/signing"
)

// BenchmarkAppend is what a durable record costs: encoding, tree, one write, one fsync
// for each batch, and a signed checkpoint once a second.
func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			l, err := Open(filepath.Join(b.TempDir(), "ledger"))
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			key, err := signing.Open(filepath.Join(b.TempDir(), "signing.key"))
			if err != nil {
				b.Fatal(err)
			}
			if err := l.SignWith(key); err != nil {
				b.Fatal(err)
			}
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

// BenchmarkVerify is audit verify of large ledgers, a thousand nodes decided again and
// again. A million records take 1 GB of disk and 4 of memory.
func BenchmarkVerify(b *testing.B) {
	for _, records := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("records=%d", records), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "ledger")
			l, err := Open(path)
			if err != nil {
				b.Fatal(err)
			}
			for attempt := 1; attempt <= records/1000; attempt++ {
				recs := nodes(1000)
				for _, r := range recs {
					r.Decision.Attempt = attempt
				}
				if err := l.Append(recs...); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(l.size)
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
			l = nil
			for b.Loop() {
				if rep, err := Verify(path); err != nil || rep.Records != records {
					b.Fatal(rep.Records, err)
				}
			}
		})
	}
}

// BenchmarkFsync is what this disk takes for one line by itself: nothing that is durable
// is faster.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := make([]byte, 1000)
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}
