package report

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// arms is the table of a feature's variants side by side.
func (p *page) arms(d *ledger.Decision) {
	byVariant := map[string][]*ledger.Launch{}
	var order []string
	for _, id := range d.Launches {
		l, ok := p.st.LaunchByID(id)
		if !ok || l.Purpose != ledger.ForBenchmark {
			continue
		}
		if len(byVariant[l.Variant]) == 0 {
			order = append(order, l.Variant)
		}
		byVariant[l.Variant] = append(byVariant[l.Variant], l)
	}
	if len(order) == 0 {
		return
	}
	var all []*ledger.Launch
	for _, v := range order {
		all = append(all, byVariant[v]...)
	}
	for _, g := range Groups(all) {
		p.group(g, order, byVariant, all)
	}
}

// group is one table: a row for each cell and variant.
func (p *page) group(g Group, order []string, byVariant map[string][]*ledger.Launch, all []*ledger.Launch) {
	workload := !ofLaunch(g.Name)
	heads := []string{"Variant", "Launches"}
	if workload {
		heads = append([]string{"Workload", "Sent"}, heads...)
	}
	for _, c := range g.Columns {
		heads = append(heads, c.Head)
	}
	p.head(heads...)
	for _, cell := range g.Cells {
		for _, v := range order {
			row := []string{v, fmt.Sprint(len(byVariant[v]))}
			if workload {
				row = append([]string{cell, Sent(all, cell)}, row...)
			}
			for _, c := range g.Columns {
				row = append(row, across(byVariant[v], c, cell))
			}
			p.row(row...)
		}
	}
	p.line("")
}

func medianOf(l *ledger.Launch, address string) string {
	v, ok := l.Metrics[address].Stats["median"]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%.0f", v)
}

// across is one column over the launches of a variant. A percentile that every
// launch has too few values for says so.
func across(launches []*ledger.Launch, c Column, cell string) string {
	var xs []float64
	lacks := ""
	for _, l := range launches {
		s, ok := c.Of(l, cell)
		v, has := s.Stats[c.Stat]
		switch {
		case !l.OK || !ok:
			return "–"
		case !has:
			lacks = s.Lacks(c.Stat)
		default:
			xs = append(xs, v)
		}
	}
	if lacks != "" {
		return lacks
	}
	mean, std := overLaunches(xs)
	if math.IsNaN(std) {
		return Digits(mean)
	}
	return fmt.Sprintf("%s ± %s", Digits(mean), twoDigits(std))
}

// twoDigits writes two significant digits, and numbers of 100 and more whole.
func twoDigits(x float64) string {
	if math.Abs(x) >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// overLaunches is the mean as decisions take it, and the standard deviation; NaN
// where there is none.
func overLaunches(xs []float64) (mean, std float64) {
	mean, err := stats.Mean(xs)
	if err != nil {
		return math.NaN(), math.NaN()
	}
	if len(xs) < 2 {
		return mean, math.NaN()
	}
	return mean, stat.StdDev(xs, nil)
}

// launches is the log of single launches, so that nobody has to trust a mean.
func (p *page) launches() {
	p.line("## Launches")
	p.line("")
	p.head("Launch", "Purpose", "Variant", "Seconds", "Outcome", "Samples", "Log")
	for _, l := range p.st.Launches(store.LaunchFilter{}) {
		outcome := "ok"
		switch {
		case !l.OK:
			outcome = tell.Line(l.Error)
		case len(l.Invalid) > 0:
			outcome = "invalid: " + strings.Join(tell.Lines(l.Invalid), "\n")
		}
		p.row(l.ID, l.Purpose, l.Variant, fmt.Sprintf("%.1f", l.Seconds), outcome, short(l.Samples), short(l.Log))
	}
	p.line("")
}

func short(sum string) string {
	if sum == "" {
		return "–"
	}
	return fmt.Sprintf("`%.12s`", sum)
}
