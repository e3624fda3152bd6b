package ledger

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/runtime/signing"
)

// BenchmarkAppend is what a durable record costs: encoding, tree, one write, one fsync, and
// a signed checkpoint, which takes two more.
func BenchmarkAppend(b *testing.B) {
	key, err := signing.Open(filepath.Join(b.TempDir(), "signing.key"))
	if err != nil {
		b.Fatal(err)
	}
	l, err := Open(filepath.Join(b.TempDir(), "ledger"), key)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	n := 0
	for b.Loop() {
		n++
		if err := l.Append(decision("r", "n", n)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen verifies and decodes a ledger of 10,000 decisions.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ledger")
	l, err := Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Append(nodes(10_000)...); err != nil {
		b.Fatal(err)
	}
	l.Close()
	b.SetBytes(l.size)
	for b.Loop() {
		l, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
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
