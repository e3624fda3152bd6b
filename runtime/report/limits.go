package report

import (
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Limits are the share of the machine's limit that launches that count reached, per cell
// and variant. There are none if machine or model are unknown.
func Limits(launches []*ledger.Launch) (shares []verdict.Reason) {
	var counted []*ledger.Launch
	for _, l := range launches {
		if l.Purpose == ledger.ForBenchmark && l.OK && len(l.Invalid) == 0 {
			counted = append(counted, l)
		}
	}
	order, byVariant := grouped(counted, func(l *ledger.Launch) string { return l.Variant })
	for _, cell := range cellsOf(counted) {
		for _, v := range order {
			if share := ofLimit(cell, v, byVariant[v]); !share.IsZero() {
				shares = append(shares, share)
			}
		}
	}
	return shares
}

// ofLimit is that of one variant and cell.
func ofLimit(cell, variant string, launches []*ledger.Launch) verdict.Reason {
	mean := func(metric, stat string) (float64, bool) {
		var xs []float64
		for _, l := range launches {
			x, known := l.Metrics[cell+"."+metric].Stats[stat]
			if !known {
				return 0, false
			}
			xs = append(xs, x)
		}
		m, err := stats.Mean(xs)
		return m, err == nil
	}
	share, known := mean("tg_of_limit", "mean")
	tg, _ := mean("tg", "median")
	if !known {
		return verdict.Reason{}
	}
	args := []verdict.Arg{verdict.Text("variant", variant), verdict.Num("tg", tg, "tok/s"), verdict.Num("share", share, "share")}
	for _, c := range launches[0].Cells {
		if c.Cell == cell && c.Limit != nil {
			args = append(args, verdict.Num("bandwidth", c.Limit.BandwidthGBs, "GB/s"), verdict.Num("rate", c.Limit.TFLOPs, "TFLOP/s"))
		}
	}
	if pp, known := mean("pp", "median"); known {
		if share, known := mean("pp_of_limit", "mean"); known {
			args = append(args, verdict.Num("pp", pp, "tok/s"), verdict.Num("pp_share", share, "share"))
		}
	}
	return verdict.New(code.OfLimit, args...).On(cell)
}
