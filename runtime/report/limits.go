package report

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Limits are the share of the machine's limit that arms reached, per cell. There are none
// if machine or model are unknown.
func Limits(arms ...*Arm) (shares []verdict.Reason) {
	var all []*ledger.Launch
	for _, a := range arms {
		all = append(all, a.Launches...)
	}
	for _, cell := range cellsOf(all) {
		for _, a := range arms {
			if share := ofLimit(cell, a); !share.IsZero() {
				shares = append(shares, share)
			}
		}
	}
	return shares
}

// ofLimit is that of one arm and cell.
func ofLimit(cell string, a *Arm) verdict.Reason {
	share, known := a.Of(cell+".tg_of_limit", "mean")
	tg, _ := a.Of(cell+".tg", "median")
	if !known {
		return verdict.Reason{}
	}
	args := []verdict.Arg{verdict.Text("variant", a.Variant), verdict.Num("tg", tg.Mean, "tok/s"), verdict.Num("share", share.Mean, "share")}
	for _, c := range a.Launches[0].Cells {
		if c.Cell == cell && c.Limit != nil {
			args = append(args, verdict.Num("bandwidth", c.Limit.BandwidthGBs, "GB/s"), verdict.Num("rate", c.Limit.TFLOPs, "TFLOP/s"))
		}
	}
	pp, measured := a.Of(cell+".pp", "median")
	if share, known := a.Of(cell+".pp_of_limit", "mean"); measured && known {
		args = append(args, verdict.Num("pp", pp.Mean, "tok/s"), verdict.Num("pp_share", share.Mean, "share"))
	}
	return verdict.Say("work.of_limit",
		"{subject}, {variant}: tg {tg:3}, {share:2} of what {bandwidth:4} allows{pp?; pp {pp:3}, {pp_share:2} of "+
			"what {rate:4} allows}",
		args...).On(cell)
}
