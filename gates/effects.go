package gates

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Effects estimates what the values of knobs do to each metric of a matrix, from the
// measured rows: for each value, the mean change against the rows that differ in it alone;
// for each pair of values beyond that, from the rows that have neither, one and both of
// them. sets holds, by row name, the values in which it differs from the reference.
//
// The spread is that of launches about the means of their row and their round, so what
// rounds have in common is in no effect. The intervals of all values hold together in 95
// of 100 matrices, and so do those of all pairs.
func Effects(rows []verdict.Row, sets map[string]map[string]string) (all []verdict.Effect) {
	of := slices.IndexFunc(rows, func(r verdict.Row) bool { return r.Reference && r.Verdict == verdict.Pass })
	if of < 0 {
		return nil
	}
	for _, cell := range rows[of].Cells {
		if cell.Better == string(measure.Neither) || cell.Better == "" {
			continue
		}
		m := matrixOf(rows, sets, cell.Address)
		if m.rounds < fewLaunches {
			continue
		}
		values := m.values()
		var single, pair []effect
		for i, a := range values {
			single = m.add(single, a)
			for _, b := range values[i+1:] {
				if a.knob != b.knob {
					pair = m.add(pair, a, b)
				}
			}
		}
		for _, family := range [][]effect{single, pair} {
			for _, e := range family {
				out := verdict.Effect{
					Address: cell.Address, Better: cell.Better, Knob: e.of[0].knob,
					Value: e.of[0].value,
				}
				change := math.Expm1(e.log)
				out.Change = &change
				if len(e.of) > 1 {
					out.With, out.WithValue = e.of[1].knob, e.of[1].value
				}
				if half := stats.Quantile(0.025/float64(len(family)), m.df) * m.sd *
					math.Sqrt(e.weight/float64(m.rounds)); half > 0 {
					low, high := math.Expm1(e.log-half), math.Expm1(e.log+half)
					out.Low, out.High = &low, &high
				}
				all = append(all, out)
			}
		}
	}
	return all
}

// knobValue is one non-baseline value of a knob.
type knobValue struct{ knob, value string }

// effect is the joint effect of some values, in logs, beyond the effects of fewer of
// them; weight is the sum of the squares with which it weighs the rows.
type effect struct {
	of          []knobValue
	log, weight float64
}

// matrix is one metric of the measured rows: by row, the values that differ from the
// reference's and the mean log.
type matrix struct {
	sets   []map[string]string
	means  []float64
	rounds int
	// sd is the spread of launches about the means of their row and their round, with its
	// degrees of freedom.
	sd, df float64
}

func matrixOf(rows []verdict.Row, sets map[string]map[string]string, address string) (m matrix) {
	var logs [][]float64
	for _, r := range rows {
		at := slices.IndexFunc(r.Cells, func(c verdict.Cell) bool { return c.Address == address })
		if at < 0 || r.Verdict != verdict.Pass {
			continue
		}
		launches := make([]float64, len(r.Cells[at].Values))
		for i, v := range r.Cells[at].Values {
			launches[i] = math.Log(v)
		}
		if slices.ContainsFunc(launches, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			continue
		}
		if len(logs) == 0 || len(launches) < m.rounds {
			m.rounds = len(launches)
		}
		logs, m.sets = append(logs, launches), append(m.sets, sets[r.Name])
	}
	perRound := make([]float64, m.rounds)
	for _, row := range logs {
		mean := 0.0
		for round, x := range row[:m.rounds] {
			mean += x / float64(m.rounds)
			perRound[round] += x / float64(len(logs))
		}
		m.means = append(m.means, mean)
	}
	all, squares := 0.0, 0.0
	for _, x := range perRound {
		all += x / float64(m.rounds)
	}
	for i, row := range logs {
		for round, x := range row[:m.rounds] {
			squares += math.Pow(x-m.means[i]-perRound[round]+all, 2)
		}
	}
	m.df = float64((len(logs) - 1) * (m.rounds - 1))
	m.sd = math.Sqrt(squares / m.df)
	return m
}

// values lists those of all rows, in order.
func (m *matrix) values() (list []knobValue) {
	for _, set := range m.sets {
		for knob, value := range set {
			if v := (knobValue{knob, value}); !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
	}
	slices.SortFunc(list, func(a, b knobValue) int {
		return cmp.Or(cmp.Compare(a.knob, b.knob), cmp.Compare(a.value, b.value))
	})
	return list
}

// add appends the effect of values, from each row that has all of them and the rows that
// have only some of them and are else the same, if all of these were measured.
func (m *matrix) add(effects []effect, of ...knobValue) []effect {
	weights := make([]float64, len(m.sets))
	groups := 0.0
rows:
	for _, set := range m.sets {
		group := map[int]float64{}
		for without := range uint(1) << len(of) {
			part := maps.Clone(set)
			for i, v := range of {
				if set[v.knob] != v.value {
					continue rows
				}
				if without&(1<<i) != 0 {
					delete(part, v.knob)
				}
			}
			at := slices.IndexFunc(m.sets, func(s map[string]string) bool { return maps.Equal(s, part) })
			if at < 0 {
				continue rows
			}
			group[at] = 1 - 2*float64(bits.OnesCount(without)%2)
		}
		groups++
		for at, sign := range sorted.All(group) {
			weights[at] += sign
		}
	}
	if groups == 0 {
		return effects
	}
	e := effect{of: of}
	for i, w := range weights {
		e.log += w / groups * m.means[i]
		e.weight += w / groups * w / groups
	}
	return append(effects, e)
}
