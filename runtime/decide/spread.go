package decide

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// AA is a session whose arms do not differ: how much its launches did. Of Launches that
// count it has seen so many Arms and Tunes, and the record of their work Boots.
type AA struct {
	Arms     int      `json:"arms"`
	Launches int      `json:"launches"`
	Tunes    int      `json:"tunes"`
	Boots    int      `json:"boots"`
	Metrics  []Spread `json:"metrics"`
}

// Spread is how much a metric varied, as standard deviations: within a launch, between
// those of an arm, between arms beyond that, and between boots beyond what the baseline's
// launches differ by in one. One is nil if it was not varied.
type Spread struct {
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit,omitempty"`
	Mean     float64  `json:"mean"`
	Requests *float64 `json:"requests"`
	Launches *float64 `json:"launches"`
	Arms     *float64 `json:"arms"`
	Boots    *float64 `json:"boots"`
	// Resolves are the smallest effects that ResolvedAt launches per arm resolve by the
	// noise on record, nil if so few decide nothing by it.
	Resolves map[int]*float64 `json:"resolves"`
	// Differed are the Pairs of arms of which one would have passed as the better one.
	Pairs    int `json:"pairs"`
	Differed int `json:"differed"`
}

var ResolvedAt = []int{2, 4, 8}

// spreadOf are the metrics of workloads that a Spread is of; those of a command are all.
var spreadOf = []string{"tg", "pp", "ttft", "capacity"}

// AAOf reads a session.
func AAOf(p *plans.Plan, records iter.Seq2[int, *ledger.Record], session []*ledger.Launch) AA {
	session = slices.DeleteFunc(slices.Clone(session), func(l *ledger.Launch) bool { return !Usable(l) })
	out := AA{Launches: len(session)}
	arms, tunes, boots, metrics := map[string]bool{}, map[any]bool{}, map[string][]*ledger.Launch{}, map[string]Spread{}
	var before []*ledger.Launch
	for _, l := range session {
		if l.Variant == ledger.Baseline && before == nil {
			before = launchesBefore(records, "", l.Work, l.VariantKey)
			for _, own := range before {
				if boot := own.BootID; own.VariantKey == l.VariantKey {
					if own.Place != nil {
						boot += own.Place.Boot
					}
					boots[boot] = append(boots[boot], own)
				}
			}
		}
		arms[l.VariantKey] = true
		if tune, seen := l.Observed["tune"]; seen {
			tunes[tune.Value] = true
		}
		for address, m := range l.Metrics {
			if cell, metric := measure.SplitAddress(address); measure.OfCommand(cell) ||
				slices.Contains(spreadOf, metric) {
				metrics[address] = Spread{Metric: address, Unit: m.Unit, Resolves: map[int]*float64{}}
			}
		}
	}
	out.Arms, out.Tunes, out.Boots = len(arms), len(tunes), len(boots)
	for _, s := range sorted.All(metrics) {
		s.measure(p.Decision, session, before, boots)
		out.Metrics = append(out.Metrics, s)
	}
	slices.SortFunc(out.Metrics, func(a, b Spread) int {
		cellA, metricA := measure.SplitAddress(a.Metric)
		cellB, metricB := measure.SplitAddress(b.Metric)
		return cmp.Or(cmp.Compare(cellA, cellB), slices.Index(spreadOf, metricA)-slices.Index(spreadOf, metricB),
			cmp.Compare(metricA, metricB))
	})
	return out
}

func (s *Spread) measure(d *plans.Decision, session, before []*ledger.Launch, boots map[string][]*ledger.Launch) {
	share := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	byArm := func(launches []*ledger.Launch) (groups [][]float64) {
		values, keys := valuesOf(launches, s.Metric)
		for _, key := range keys {
			groups = append(groups, values[key])
		}
		return groups
	}
	var squares, free float64
	for _, l := range session {
		if m := l.Metrics[s.Metric]; m.N > 1 {
			squares, free = squares+float64(m.N-1)*m.Stats["cv"]*m.Stats["cv"], free+float64(m.N-1)
		}
	}
	arms := byArm(session)
	within, between, _ := stats.Nested(arms)
	s.Mean, _ = stats.Mean(slices.Concat(arms...))
	s.Requests, s.Launches, s.Arms = share(math.Sqrt(squares/free)), share(math.Expm1(within)),
		share(math.Expm1(between))
	var byBoot [][]float64
	for _, boot := range slices.Sorted(maps.Keys(boots)) {
		byBoot = append(byBoot, slices.Concat(byArm(boots[boot])...))
	}
	_, between, _ = stats.Nested(byBoot)
	s.Boots = share(math.Expm1(between))

	n := noiseAmong(before, []string{s.Metric}, nil)[s.Metric]
	design, err := stats.DesignFor(d.FalsePass, d.FalseFail, stats.TwoLaunches, max(d.Max, slices.Max(ResolvedAt)),
		stats.TwoLaunches)
	for _, launches := range ResolvedAt {
		effect := math.NaN()
		if err == nil && (launches > stats.TwoLaunches || n.DF >= gates.LeastFreedom && n.SD > 0) {
			effect = resolving(n, design)(launches)
		}
		s.Resolves[launches] = share(effect)
	}
	for i, a := range arms {
		for _, b := range arms[:i] {
			if least := min(len(a), len(b)); least >= stats.LeastLaunches {
				if s.Pairs++; passes(d, a, b, least) || passes(d, b, a, least) {
					s.Differed++
				}
			}
		}
	}
}

// passes reports whether n launches of two arms would pass the claim that the first is the
// better one, at a plan's error rates.
func passes(d *plans.Decision, a, b []float64, n int) bool {
	design, err := stats.DesignFor(d.FalsePass, d.FalseFail, n, n, stats.Recorded)
	if err != nil {
		return false
	}
	q := stats.Question{Terms: stats.Terms{Pass: design.Pass, Fail: design.Fail, Gap: stats.UsualGap}}
	for i := range n {
		q.Candidate, q.Base = append(q.Candidate, math.Log(a[i])), append(q.Base, math.Log(b[i]))
	}
	outcome, _, err := stats.Sequential(q, design)
	return err == nil && outcome == stats.Passed
}
