package store

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

const many = 10_000

func decisions(from, n int) []*ledger.Record {
	recs := make([]*ledger.Record, n)
	for i := range recs {
		recs[i] = decision("r", fmt.Sprintf("feature.f%d", from+i), 1, verdict.Pass)
	}
	return recs
}

// BenchmarkStoreOpen opens a state directory with 10,000 decisions.
func BenchmarkStoreOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), ".mxflow")
	s := open(b, dir)
	for i := 0; i < many; i += 1000 {
		add(b, s, decisions(i, 1000)...)
	}
	s.Close()
	for name, use := range map[string]func(){
		"writer": func() { open(b, dir).Close() },
		"reader": func() { openReadOnly(b, dir).Close() },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				use()
			}
		})
	}
}
