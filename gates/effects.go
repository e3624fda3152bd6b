package gates

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Effects estimates what the values of knobs do to each metric of a matrix, from the
// measured rows: for each value alone, by an additive model of ln(metric) over rounds and
// values; for pairs of values beyond that, from the four cells that have neither, one and
// both of them, if all four were measured. sets holds, by row name, the values in which
// it differs from the reference.
func Effects(rows []verdict.Row, sets map[string]map[string]string) (all []verdict.Effect) {
	var sound []verdict.Row
	var of *verdict.Row
	for i, r := range rows {
		if r.Verdict == verdict.Pass {
			sound = append(sound, r)
			if r.Reference {
				of = &rows[i]
			}
		}
	}
	if of == nil {
		return nil
	}
	for _, cell := range of.Cells {
		if cell.Better == string(measure.Neither) || cell.Better == "" {
			continue
		}
		logs := map[string][]float64{} // by row
		for _, r := range sound {
			at := slices.IndexFunc(r.Cells, func(c verdict.Cell) bool { return c.Address == cell.Address })
			if at < 0 {
				continue
			}
			if l, ok := logsOf(r.Cells[at].Values); ok {
				logs[r.Name] = l
			}
		}
		if logs[of.Name] == nil {
			continue
		}
		effects := append(mainEffects(logs, sets), interactions(logs, sets, of.Name)...)
		for i := range effects {
			effects[i].Address, effects[i].Better = cell.Address, cell.Better
		}
		all = append(all, effects...)
	}
	return all
}

// logsOf returns the logs of values; false if one has none.
func logsOf(values []float64) ([]float64, bool) {
	out := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, false
		}
		out[i] = math.Log(v)
	}
	return out, true
}

// single is one non-baseline value of a knob.
type single struct{ knob, value string }

// singles lists those of all rows, in order.
func singles(logs map[string][]float64, sets map[string]map[string]string) (list []single) {
	for name := range logs {
		for knob, value := range sets[name] {
			if s := (single{knob, value}); !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	slices.SortFunc(list, func(a, b single) int {
		return cmp.Or(cmp.Compare(a.knob, b.knob), cmp.Compare(a.value, b.value))
	})
	return list
}

// mainEffects fits ln(metric) = round + values, by least squares. Launches of a row are in
// the order of rounds.
func mainEffects(logs map[string][]float64, sets map[string]map[string]string) (out []verdict.Effect) {
	values := singles(logs, sets)
	rounds := 0
	for _, l := range logs {
		rounds = max(rounds, len(l))
	}
	var x [][]float64
	var y []float64
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		for round, v := range logs[name] {
			row := make([]float64, rounds+len(values))
			row[round] = 1
			for i, s := range values {
				if sets[name][s.knob] == s.value {
					row[rounds+i] = 1
				}
			}
			x, y = append(x, row), append(y, v)
		}
	}
	fit, ok := stats.LeastSquares(x, y)
	if !ok {
		return nil
	}
	for i, s := range values {
		out = append(out, verdict.Effect{
			Knob: s.knob, Value: s.value, Comparison: bounded(fit.Of[rounds+i], fit.Error[rounds+i], fit.DF, len(values)),
		})
	}
	return out
}

// interactions contrast, round by round, the cells that have neither, one and both of two
// values and nothing else.
func interactions(logs map[string][]float64, sets map[string]map[string]string, reference string) (out []verdict.Effect) {
	byset := func(want map[string]string) []float64 {
		for name, l := range logs {
			if maps.Equal(sets[name], want) {
				return l
			}
		}
		return nil
	}
	values := singles(logs, sets)
	var means, se []float64
	var df []int
	for i, a := range values {
		for _, b := range values[i+1:] {
			if a.knob == b.knob {
				continue
			}
			both, one, other := byset(map[string]string{a.knob: a.value, b.knob: b.value}), byset(map[string]string{a.knob: a.value}), byset(map[string]string{b.knob: b.value})
			none := logs[reference]
			n := min(len(both), len(one), len(other), len(none))
			if n < fewLaunches {
				continue
			}
			contrasts := make([]float64, n)
			for r := range n {
				contrasts[r] = both[r] - one[r] - other[r] + none[r]
			}
			mean, sd := stats.MeanSD(contrasts)
			out = append(out, verdict.Effect{Knob: a.knob, Value: a.value, With: b.knob, WithValue: b.value})
			means, se, df = append(means, mean), append(se, sd/math.Sqrt(float64(n))), append(df, n-1)
		}
	}
	for i := range out {
		out[i].Comparison = bounded(means[i], se[i], df[i], len(out))
	}
	return out
}

// bounded is a change from its log, with its interval as one of so many.
func bounded(log, se float64, df, of int) (c stats.Comparison) {
	change := math.Expm1(log)
	c.Change = &change
	if half, ok := stats.HalfWidth(se, df, 0.05/float64(max(1, of))); ok {
		low, high := math.Expm1(log-half), math.Expm1(log+half)
		c.Low, c.High = &low, &high
	}
	return c
}
