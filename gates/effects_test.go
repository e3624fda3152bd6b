package gates

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// made is a matrix of two knobs, whose values multiply a metric, with an interaction.
func made(noise float64, sets map[string]map[string]string, of func(set map[string]string) float64) (rows []verdict.Row) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, name := range []string{"baseline", "a=1", "b=1", "b=2", "a=1+b=1", "a=1+b=2"} {
		set, ok := sets[name]
		if !ok {
			continue
		}
		row := verdict.Row{Name: name, Verdict: verdict.Pass, Reference: name == "baseline"}
		cell := verdict.Cell{Address: "chat.tg", Better: "higher"}
		for round := range 6 {
			cell.Values = append(cell.Values, 100*(1+0.1*float64(round))*of(set)*math.Exp(noise*r.NormFloat64()))
		}
		row.Cells = []verdict.Cell{cell}
		rows = append(rows, row)
	}
	return rows
}

var combined = map[string]map[string]string{
	"baseline": {}, "a=1": {"a": "1"}, "b=1": {"b": "1"}, "b=2": {"b": "2"},
	"a=1+b=1": {"a": "1", "b": "1"}, "a=1+b=2": {"a": "1", "b": "2"},
}

func effectOf(all []verdict.Effect, value, with string) *verdict.Effect {
	for i, e := range all {
		if e.Knob+"="+e.Value == value && (with == "" && e.With == "" || e.With+"="+e.WithValue == with) {
			return &all[i]
		}
	}
	return nil
}

// TestEffects: the effects of values, alone and together, are found within their bounds,
// whatever the rounds do; a value without effect is not shown to have one.
func TestEffects(t *testing.T) {
	rows := made(0.005, combined, func(set map[string]string) float64 {
		x := 1.0
		if set["a"] == "1" {
			x *= 1.2
		}
		if set["b"] == "2" {
			x *= 0.9
			if set["a"] == "1" {
				x *= 0.8
			}
		}
		return x
	})
	all := Effects(rows, combined)
	if together := effectOf(all, "a=1", "b=2"); together == nil || !together.Significant() || math.Abs(*together.Change+0.2) > 0.02 {
		t.Errorf("a and b=2 together: %+v", together)
	}
	if none := effectOf(all, "a=1", "b=1"); none == nil || none.Significant() {
		t.Errorf("a and b=1 do nothing together: %+v", none)
	}
	additive := made(0.005, combined, func(set map[string]string) float64 {
		return map[bool]float64{true: 1.2, false: 1}[set["a"] == "1"] * map[string]float64{"": 1, "1": 1, "2": 0.9}[set["b"]]
	})
	all = Effects(additive, combined)
	for value, want := range map[string]float64{"a=1": 0.2, "b=2": -0.1, "b=1": 0} {
		e := effectOf(all, value, "")
		if e == nil || math.Abs(*e.Change-want) > 0.02 || e.Significant() != (want != 0) || *e.Low > want || *e.High < want {
			t.Errorf("%s: %+v", value, e)
		}
	}
}

// TestEffectsOfBrokenCells: a cell without numbers is in no effect, and values that are
// in no other cell have none; without the reference there are no effects.
func TestEffectsOfBrokenCells(t *testing.T) {
	rows := made(0.005, combined, func(map[string]string) float64 { return 1 })
	for i := range rows {
		if combined[rows[i].Name]["b"] == "2" {
			rows[i].Verdict, rows[i].Cells = verdict.Error, nil
		}
	}
	all := Effects(rows, combined)
	if effectOf(all, "b=2", "") != nil || effectOf(all, "a=1", "") == nil {
		t.Errorf("%+v", all)
	}
	rows[0].Verdict = verdict.Invalid
	if all := Effects(rows, combined); all != nil {
		t.Errorf("without the reference: %+v", all)
	}
}
