package report

import (
	"fmt"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// starts is how long engines took to start and to answer their first request,
// with cold compile caches and with warm ones apart. Only plans that declare
// caches have it: elsewhere nobody knows what the caches held.
func (p *page) starts() {
	type arm struct{ variant, caches string }
	byArm := map[arm][]*ledger.Launch{}
	var order []arm
	for _, l := range p.st.Launches(store.LaunchFilter{}) {
		state := l.Engine["caches"]
		if state == "" || !l.OK {
			continue
		}
		a := arm{l.Variant, state}
		if byArm[a] == nil {
			order = append(order, a)
		}
		byArm[a] = append(byArm[a], l)
	}
	if len(order) == 0 {
		return
	}
	p.line("## Starts with cold and warm caches")
	p.line("")
	p.head("Variant", "Caches", "Launches", "startup_s (s)", "first_request_s (s)")
	for _, a := range order {
		launches := byArm[a]
		p.row(a.variant, a.caches, fmt.Sprint(len(launches)), across(launches, startup, ""), across(launches, firstRequest, ""))
	}
	p.line("")
}

var (
	startup      = Column{Cell: "engine", Metric: "startup_s", Stat: "median"}
	firstRequest = Column{Cell: "engine", Metric: "first_request_s", Stat: "median"}
)
