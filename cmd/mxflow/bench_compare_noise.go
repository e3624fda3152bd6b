package main

import (
	"math"
	"path/filepath"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// startNoise is how much fresh starts of one variant differ, as far as records
// in this folder show it.
type startNoise struct {
	// sd is the pooled standard deviation of the logs.
	sd           float64
	launches, df int
}

// apart is how far two starts of one server are from each other at most, in 19
// of 20 cases, as a share.
func (n startNoise) apart() float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n.df)}.Quantile(0.975)
	return math.Expm1(t * math.Sqrt2 * n.sd)
}

// startNoise pools launches over sessions and variants that sent the same cell.
// Variants of one session share a machine and a boot, but not a mean.
func (a *app) startNoise(cell benchCell) (n startNoise, ok bool) {
	dirs := []string{stateName}
	if a.state != "" {
		dirs = []string{a.state}
	} else if more, err := filepath.Glob(filepath.Join(abFolder, "*", stateName)); err == nil {
		dirs = append(dirs, more...)
	}
	squares := 0.0
	for _, dir := range dirs {
		st, err := store.OpenReadOnly(dir)
		if err != nil {
			continue // there is none, or none that can be read
		}
		groups := map[string][]abLaunch{}
		for _, l := range st.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark, OK: true}) {
			if v, sent := sentLike(l, cell); sent && len(l.Invalid) == 0 {
				groups[l.Session+" "+l.VariantKey] = append(groups[l.Session+" "+l.VariantKey], abLaunch{Value: v})
			}
		}
		st.Close()
		for _, g := range groups {
			if sd, ok := logSpread(g); ok {
				squares += sd * sd * float64(len(g)-1)
				n.df += len(g) - 1
				n.launches += len(g)
			}
		}
	}
	if n.df < 2 {
		return n, false
	}
	n.sd = math.Sqrt(squares / float64(n.df))
	return n, n.sd > 0
}

// sentLike is the decode speed of a launch that sent the cell.
func sentLike(l *ledger.Launch, cell benchCell) (float64, bool) {
	for _, run := range l.Cells {
		if run.Prompt != cell.Prompt || run.Output != cell.Output || run.Depth != cell.Depth || run.Concurrency != cell.Concurrency || run.Rate != cell.Rate {
			continue
		}
		if v := l.Metrics[run.Cell+".tg"].Stats["median"]; v > 0 {
			return v, true
		}
	}
	return 0, false
}
