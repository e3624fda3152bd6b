package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Spread is how much a metric varied over launches of arms that do not differ, and what
// launches resolve of it. Shares are standard deviations; one is nil if it was not varied.
type Spread struct {
	Metric string  `json:"metric"`
	Unit   string  `json:"unit,omitempty"`
	Mean   float64 `json:"mean"`
	// Requests is within a launch, Launches between those of an arm, Arms between arms
	// beyond that, and Boots between boots of the machine beyond what launches of the
	// baseline differ by in one.
	Requests *float64 `json:"requests"`
	Launches *float64 `json:"launches"`
	Arms     *float64 `json:"arms"`
	Boots    *float64 `json:"boots"`
	// Resolves are the smallest effects that numbers of launches per arm resolve by the
	// noise on record.
	Resolves []Resolved `json:"resolves"`
	// Pairs of arms were compared by the plan's error rates, and so many Differed.
	Pairs    int `json:"pairs"`
	Differed int `json:"differed"`
}

type Resolved struct {
	Launches int `json:"launches"`
	// Effect is nil if so few launches decide nothing.
	Effect *float64 `json:"effect"`
}

// resolvedAt are the launches per arm that a Spread says the smallest effects of.
var resolvedAt = []int{2, 4, 8}

// spreadOf lists the metrics of workloads that a Spread is shown of; those of a command
// are all.
var spreadOf = []string{"tg", "pp", "ttft"}

// Spreads are of the launches that count of a session whose arms do not differ, by cell.
// before are those on record with the same work (NoiseBefore), baseline the key of the arm
// that is the plan's.
func Spreads(d *plans.Decision, session, before []*ledger.Launch, baseline string) (all []Spread) {
	for address, m := range session[0].Metrics {
		cell, metric := measure.SplitAddress(address)
		if measure.OfCommand(cell) && m.Better != measure.Neither || slices.Contains(spreadOf, metric) {
			all = append(all, Spread{Metric: address, Unit: m.Unit})
		}
	}
	order := func(s Spread) (string, int) {
		cell, metric := measure.SplitAddress(s.Metric)
		return cell, slices.Index(spreadOf, metric)
	}
	slices.SortFunc(all, func(a, b Spread) int {
		cellA, atA := order(a)
		cellB, atB := order(b)
		return cmp.Or(cmp.Compare(cellA, cellB), cmp.Compare(atA, atB), cmp.Compare(a.Metric, b.Metric))
	})
	for i := range all {
		all[i].measure(d, session, before, baseline)
	}
	return all
}

func (s *Spread) measure(d *plans.Decision, session, before []*ledger.Launch, baseline string) {
	values, keys := valuesOf(session, s.Metric)
	var arms, boots [][]float64
	var every []float64
	for _, key := range keys {
		arms, every = append(arms, values[key]), append(every, values[key]...)
	}
	if s.Mean, _ = stats.Mean(every); len(every) == 0 {
		return
	}
	var squares, free float64
	for _, l := range session {
		m := l.Metrics[s.Metric]
		if cv, ok := m.Stats["cv"]; ok && m.N > 1 {
			squares, free = squares+float64(m.N-1)*cv*cv, free+float64(m.N-1)
		}
	}
	if free > 0 {
		s.Requests = share(math.Sqrt(squares / free))
	}
	within, between, df := stats.Nested(arms)
	if df > 0 {
		s.Launches, s.Arms = share(math.Expm1(within)), share(math.Expm1(between))
	}
	at := map[string]int{}
	for _, l := range before {
		v, ok := l.Metrics[s.Metric].Stats["median"]
		if !ok || l.VariantKey != baseline {
			continue
		}
		boot := BootOf(l)
		if _, seen := at[boot]; !seen {
			at[boot], boots = len(boots), append(boots, nil)
		}
		boots[at[boot]] = append(boots[at[boot]], v)
	}
	if _, between, _ = stats.Nested(boots); len(boots) > 1 {
		s.Boots = share(math.Expm1(between))
	}
	s.resolve(d, Noise(before, []string{s.Metric}, nil)[s.Metric])
	s.compare(d, arms)
}

// BootOf is the boot of the machine that a launch ran on.
func BootOf(l *ledger.Launch) string {
	if l.Place != nil && l.Place.Boot != "" {
		return l.Place.Boot
	}
	return l.BootID
}

// share is nil for what is no number.
func share(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func (s *Spread) resolve(d *plans.Decision, n verdict.Noise) {
	design, err := stats.Offer(d.FalsePass, d.FalseFail, stats.Clear, max(d.Max, slices.Max(resolvedAt)), stats.Clear)
	if err != nil || n.DF == 0 {
		return
	}
	n.Gap = 0 // a candidate's own starts are not on record
	for _, launches := range resolvedAt {
		r := Resolved{Launches: launches}
		if launches > stats.Clear || n.DF >= gates.LeastFreedom && n.SD > 0 {
			r.Effect = share(resolving(n, design)(launches))
		}
		s.Resolves = append(s.Resolves, r)
	}
}

// compare counts the pairs of arms of which one would have passed as better than the other.
func (s *Spread) compare(d *plans.Decision, arms [][]float64) {
	n := len(arms[0])
	for _, arm := range arms {
		n = min(n, len(arm))
	}
	design, err := stats.Offer(d.FalsePass, d.FalseFail, n, n, stats.Recorded)
	if err != nil || n < stats.LeastLaunches {
		return
	}
	better := func(a, b []float64) bool {
		q := stats.Question{Pass: design.Pass, Fail: design.Fail, Gap: stats.UsualGap}
		for i := range n {
			q.Candidate, q.Base = append(q.Candidate, math.Log(a[i])), append(q.Base, math.Log(b[i]))
		}
		outcome, _, err := stats.Sequential(q, design)
		return err == nil && outcome == stats.Passed
	}
	for i, a := range arms {
		for _, b := range arms[:i] {
			if s.Pairs++; better(a, b) || better(b, a) {
				s.Differed++
			}
		}
	}
}
