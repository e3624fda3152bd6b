package load

import (
	"os"
	"testing"

	"github.com/mxflow/mxflow/plans/planstest"
)

func BenchmarkLoad1000Features(b *testing.B) {
	src := planstest.LargePlan(1000)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if res := Bytes("large.hcl", src, planstest.Registry(), Options{}); !res.OK() {
			b.Fatal(planstest.Text(&res.Findings))
		}
	}
}

// BenchmarkLoad5000Rules is the budget of the plan language: 800 ms and 250 MB.
func BenchmarkLoad5000Rules(b *testing.B) {
	src := planstest.PlainPlan(1000, 5)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if res := Bytes("large.hcl", src, planstest.Registry(), Options{}); !res.OK() {
			b.Fatal(planstest.Text(&res.Findings))
		}
	}
}

// BenchmarkLoadGenerated makes 1000 features from one block.
func BenchmarkLoadGenerated(b *testing.B) {
	src := []byte(planstest.GeneratedPlan)
	b.ReportAllocs()
	for b.Loop() {
		if res := Bytes("generated.hcl", src, planstest.Registry(), Options{}); !res.OK() {
			b.Fatal(planstest.Text(&res.Findings))
		}
	}
}

func BenchmarkLoadMxfp4(b *testing.B) {
	src, err := os.ReadFile("testdata/valid/mxfp4.hcl")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Bytes("plan.hcl", src, planstest.Registry(), Options{})
	}
}

func BenchmarkDigest1000Features(b *testing.B) {
	p := Bytes("large.hcl", planstest.LargePlan(1000), planstest.Registry(), Options{}).Plan
	for b.Loop() {
		p.Digest()
	}
}
