package steps

import (
	"math"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Launches that never differed resolve no more than rounding lets them.
func TestResolution(t *testing.T) {
	resolves := func(launches int) float64 { return 0.08 / float64(launches) }
	want := verdict.New(code.Resolves,
		verdict.Int("few", 4), verdict.Num("with_few", 0.02, "share"), verdict.Int("many", 8), verdict.Num("with_many", 0.01, "share"),
		verdict.Num("differ", math.Expm1(0.005), "share"), verdict.Num("differ_bound", math.Expm1(0.006), "share"))
	if got := resolution(0.005, 0.006, 4, 8, resolves); !got.Equal(want) {
		t.Errorf("%+v", got)
	}
	if got := resolution(0, 0, 4, 8, func(int) float64 { return 0 }); !got.Equal(verdict.New(code.ResolvesRounding)) {
		t.Errorf("%+v", got)
	}
}
