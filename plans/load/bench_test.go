package load

import (
	"os"
	"testing"

	"github.com/mxflow/mxflow/plans/planstest"
)

func BenchmarkLoadMxfp4(b *testing.B) {
	src, err := os.ReadFile("testdata/valid/mxfp4.hcl")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Bytes("plan.hcl", src, planstest.Registry(), Options{})
	}
}
