package report

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// arms is the table of a feature's variants side by side.
func (p *page) arms(d *ledger.Decision) {
	byVariant := map[string][]*ledger.Launch{}
	var order []string
	for _, id := range d.Launches {
		l, ok := p.st.LaunchByID(id)
		if !ok || l.Purpose != "benchmark" {
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
	var addresses []string
	for address := range byVariant[order[0]][0].Metrics {
		if shown(address) {
			addresses = append(addresses, address)
		}
	}
	sort.Strings(addresses)
	head := []string{"Variant", "Launches"}
	for _, a := range addresses {
		head = append(head, Label(byVariant[order[0]][0], a))
	}
	p.head(head...)
	for _, v := range order {
		cells := []string{v, fmt.Sprint(len(byVariant[v]))}
		for _, a := range addresses {
			cells = append(cells, across(byVariant[v], a))
		}
		p.row(cells...)
	}
	p.line("")
}

// shown are the metrics that the field's tables have.
func shown(address string) bool {
	if strings.HasPrefix(address, "command.") {
		return true
	}
	for _, m := range []string{".tg", ".pp", ".ttft", ".tpot", ".e2e", ".startup_s", ".first_request_s", ".memory_gb"} {
		if strings.HasSuffix(address, m) {
			return true
		}
	}
	return false
}

// Label names a metric as the field does, with the token counts that the engine
// counted: chat.tg of 32 output tokens is "chat tg32 (tok/s)".
func Label(l *ledger.Launch, address string) string {
	i := strings.LastIndexByte(address, '.')
	cell, metric := address[:i], address[i+1:]
	tokens := ""
	switch metric {
	case "tg":
		tokens = medianOf(l, cell+".output_tokens")
	case "pp":
		tokens = medianOf(l, cell+".prompt_tokens")
	}
	unit := l.Metrics[address].Unit
	return fmt.Sprintf("%s %s%s (%s)", cell, metric, tokens, unit)
}

func medianOf(l *ledger.Launch, address string) string {
	v, ok := l.Metrics[address].Stats["median"]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%.0f", v)
}

// across is one metric over the launches of a variant.
func across(launches []*ledger.Launch, address string) string {
	var xs []float64
	for _, l := range launches {
		v, ok := l.Metrics[address].Stats["median"]
		if !l.OK || !ok {
			return "–"
		}
		xs = append(xs, v)
	}
	mean, std := overLaunches(xs)
	if math.IsNaN(std) {
		return fmt.Sprintf("%.4g", mean)
	}
	return fmt.Sprintf("%.4g ± %.2g", mean, std)
}

func overLaunches(xs []float64) (mean, std float64) {
	if len(xs) == 0 {
		return math.NaN(), math.NaN()
	}
	logs, sum := 0.0, 0.0
	for _, x := range xs {
		logs += math.Log(x)
		sum += x
	}
	n := float64(len(xs))
	mean = math.Exp(logs / n)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		mean = sum / n
	}
	if len(xs) < 2 {
		return mean, math.NaN()
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - sum/n) * (x - sum/n)
	}
	return mean, math.Sqrt(squares / (n - 1))
}

// launches is the log of single launches, so that nobody has to trust a mean.
func (p *page) launches() {
	p.line("## Launches")
	p.line("")
	p.head("Launch", "Purpose", "Variant", "Seconds", "Outcome", "Samples", "Log")
	for _, l := range p.st.Launches(store.LaunchFilter{}) {
		outcome := "ok"
		if !l.OK {
			outcome = l.Error
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
