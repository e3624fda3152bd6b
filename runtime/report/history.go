package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// History is one metric over everything that a state directory has recorded.
type History struct {
	Metric string         `json:"metric"`
	Stat   string         `json:"stat"`
	Unit   string         `json:"unit"`
	Better measure.Better `json:"better,omitempty"`
	Series []Series       `json:"series"`
	// Milestones are those of the state directory, in their order.
	Milestones []Milestone `json:"milestones"`
}

// Series is the metric of one variant on one engine, whatever became of either since.
type Series struct {
	Variant string  `json:"variant"`
	Engine  string  `json:"engine,omitempty"`
	Points  []Point `json:"points"`
	// Older is how many points before the first are left out.
	Older   int      `json:"older,omitempty"`
	Changes []Change `json:"changes"`
}

// Point is one session: the mean over its launches that count.
type Point struct {
	Time     time.Time `json:"time"`
	Session  string    `json:"session"`
	Key      string    `json:"variant_key"`
	Launches int       `json:"launches"`
	Value    float64   `json:"value"`
}

// Change is a point from which the metric differs.
type Change struct {
	stats.ChangePoint
	// Before and After are the means of the stretches on both sides.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// HistoryOf is the history of a metric by its address, with or without a statistic. An
// address that no launch has is an error that lists the existing ones.
func HistoryOf(st *store.Store, address string) (*History, error) {
	h := &History{Metric: address, Stat: "median", Milestones: Milestones(st)}
	if metric, stat := measure.SplitAddress(address); measure.IsStat(stat) {
		h.Metric, h.Stat = metric, stat
	}
	launches := h.launches(st)
	if len(launches) == 0 {
		return nil, fmt.Errorf("no valid launch has %s", address)
	}
	order := []string{}
	values := map[string]map[string][]float64{}
	series := map[string]*Series{}
	for _, l := range launches {
		key := l.Block + " " + l.Variant
		if series[key] == nil {
			series[key], values[key], order = &Series{Variant: l.Variant, Engine: l.Block}, map[string][]float64{}, append(order, key)
		}
		s := series[key]
		if at := values[key][l.Session]; at == nil {
			s.Points = append(s.Points, Point{Time: l.Started, Session: l.Session, Key: l.VariantKey})
		}
		values[key][l.Session] = append(values[key][l.Session], l.Metrics[h.Metric].Stats[h.Stat])
		h.Unit, h.Better = l.Metrics[h.Metric].Unit, l.Metrics[h.Metric].Better
	}
	for _, key := range order {
		s := series[key]
		for i := range s.Points {
			of := values[key][s.Points[i].Session]
			mean, err := stats.MeanInterval(of)
			if err != nil {
				return nil, fmt.Errorf("%s in session %s: %w", address, s.Points[i].Session, err)
			}
			s.Points[i].Launches, s.Points[i].Value = len(of), mean.Mean
		}
		if err := s.divide(); err != nil {
			return nil, err
		}
		h.Series = append(h.Series, *s)
	}
	return h, nil
}

// launches are those that count and have the metric: measured ones or, if none of those
// has it, the ones that qualified a variant.
func (h *History) launches(st *store.Store) (of []*ledger.Launch) {
	for _, purpose := range []string{ledger.ForBenchmark, ledger.ForQualification} {
		of = slices.DeleteFunc(st.Launches(store.LaunchFilter{Purpose: purpose, OK: true}), func(l *ledger.Launch) bool {
			_, has := l.Metrics[h.Metric].Stats[h.Stat]
			return !has || !l.Counts()
		})
		if len(of) > 0 {
			return of
		}
	}
	return nil
}

// divide looks for changes in the last points.
func (s *Series) divide() error {
	if more := len(s.Points) - stats.MostDivided; more > 0 {
		s.Points, s.Older = s.Points[more:], more
	}
	values := make([]float64, len(s.Points))
	for i, p := range s.Points {
		values[i] = p.Value
	}
	found, err := stats.Divide(values)
	if err != nil {
		return err
	}
	s.Changes = []Change{} // a list in JSON, even if empty
	from := 0
	for i, c := range found {
		to := len(values)
		if i+1 < len(found) {
			to = found[i+1].At
		}
		before, err := stats.MeanInterval(values[from:c.At])
		if err != nil {
			return err
		}
		after, err := stats.MeanInterval(values[c.At:to])
		if err != nil {
			return err
		}
		s.Changes = append(s.Changes, Change{ChangePoint: c, Before: before.Mean, After: after.Mean})
		from = c.At
	}
	return nil
}

// Recorded are the addresses of all metrics that launches have, sorted.
func Recorded(st *store.Store) (addresses []string) {
	for _, l := range st.Launches(store.LaunchFilter{OK: true}) {
		for address := range l.Metrics {
			if !slices.Contains(addresses, address) {
				addresses = append(addresses, address)
			}
		}
	}
	slices.Sort(addresses)
	return addresses
}
