package main

import (
	"os/exec"
	"testing"
)

// BenchmarkVersion is the time of a whole process: what a person feels before
// anything else happens.
func BenchmarkVersion(b *testing.B) {
	for b.Loop() {
		if out, err := exec.Command(program, "version").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/start")
}
