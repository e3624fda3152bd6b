package gates

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// contender is one whose launches have these values of chat.tg and chat.ttft.
func contender(name string, tg, ttft []float64) Contender {
	c := Contender{Arm: Arm{Name: name}}
	for i := range tg {
		m := map[string]measure.Summary{}
		for metric, v := range map[string]float64{"tg": tg[i], "ttft": ttft[i], "e2e": 1} {
			m["chat."+metric], _ = measure.SummaryOf(metric, []float64{v})
		}
		m["engine.startup_s"], _ = measure.SummaryOf("startup_s", []float64{2})
		c.Launches = append(c.Launches, Launch{ID: name, Metrics: m})
	}
	return c
}

// tableOf is their table, each beside all launches of the reference.
func tableOf(all []Contender, reference string) []verdict.Row {
	for i := range all {
		for _, c := range all {
			if c.Name == reference {
				all[i].Reference = c.Launches
			}
		}
	}
	return Compare(all, reference)
}

func cell(t *testing.T, r verdict.Row, address string) verdict.Cell {
	t.Helper()
	for _, c := range r.Cells {
		if c.Address == address {
			return c
		}
	}
	t.Fatalf("row %s has no %s: %+v", r.Name, address, r)
	return verdict.Cell{}
}

func TestCompare(t *testing.T) {
	rows := tableOf([]Contender{
		contender("fast", []float64{200, 220}, []float64{5, 5.5}),
		{Arm: Arm{Name: "broken"}, Verdict: verdict.Error, Why: died("it died")},
		contender("reference", []float64{100, 110}, []float64{10, 11}),
	}, "reference")
	if len(rows) != 3 || rows[0].Name != "fast" || !rows[2].Reference || rows[0].N != 2 {
		t.Fatalf("%+v", rows)
	}
	if r := rows[1]; r.Verdict != verdict.Error || !r.Why.Equal(died("it died")) || len(r.Cells) > 0 {
		t.Errorf("%+v", r)
	}
	tg, ttft := cell(t, rows[0], "chat.tg"), cell(t, rows[0], "chat.ttft")
	if math.Abs(tg.Mean-math.Sqrt(200*220)) > 1e-9 || tg.Low == nil || *tg.Low >= tg.Mean || *tg.High <= tg.Mean ||
		len(tg.Values) != 2 {
		t.Errorf("tg %+v", tg)
	}
	// More than 1 is better, in both directions.
	for _, c := range []verdict.Cell{tg, ttft} {
		if c.Speedup == nil || math.Abs(*c.Speedup-2) > 1e-9 || c.SpeedupLow == nil || *c.SpeedupLow >= 2 ||
			*c.SpeedupHigh <= 2 {
			t.Errorf("%s: %+v", c.Address, c)
		}
	}
	if c := cell(t, rows[2], "chat.tg"); c.Speedup != nil {
		t.Errorf("the reference is faster than itself: %+v", c)
	}
	// Metrics that are not for this table are not in it; the engine's own come last.
	var order []string
	for _, c := range rows[0].Cells {
		order = append(order, c.Address)
	}
	must.Equal(t, "columns", strings.Join(order, " "), "chat.tg chat.ttft engine.startup_s")
	// Nothing varies: a ratio without an interval, not an invented one.
	if c := cell(t, rows[0], "engine.startup_s"); c.Low != nil || c.Speedup == nil || c.SpeedupLow != nil {
		t.Errorf("%+v", c)
	}
}

// If rounds ran on places that differ tenfold, speed-ups are those within rounds, and a
// row with a round that ran on two places has none.
func TestCompareWithinRounds(t *testing.T) {
	on := func(c Contender, places ...string) Contender {
		for i := range c.Launches {
			c.Launches[i].Place = places[i]
		}
		return c
	}
	rows := tableOf([]Contender{
		on(contender("fast", []float64{200, 2010, 201, 2000}, []float64{5, 0.5, 5, 0.5}), "a", "b", "a", "b"),
		on(contender("apart", []float64{200, 2010, 201, 2000}, []float64{5, 0.5, 5, 0.5}), "a", "b", "b", "a"),
		on(contender("nowhere", []float64{200, 2010, 201, 2000}, []float64{5, 0.5, 5, 0.5}), "a", "b", "", "b"),
		on(contender("reference", []float64{100, 1000, 100, 1000}, []float64{10, 1, 10, 1.01}), "a", "b", "a", "b"),
	}, "reference")
	for _, address := range []string{"chat.tg", "chat.ttft"} {
		if c := cell(t, rows[0], address); c.Speedup == nil || c.SpeedupLow == nil || *c.SpeedupLow < 1.95 ||
			*c.SpeedupHigh > 2.05 {
			t.Errorf("%s: %+v", address, c)
		}
	}
	if r := rows[1]; r.Verdict != verdict.Invalid || len(r.Cells) > 0 ||
		!strings.Contains(r.Why.String(), "launches of round 3 of apart ran on two places, b and a") {
		t.Errorf("%s %q", r.Verdict, r.Why.String())
	}
	if r := rows[2]; r.Verdict != verdict.Invalid || len(r.Cells) > 0 ||
		!strings.Contains(r.Why.String(), "an unknown one and a") {
		t.Errorf("%s %q", r.Verdict, r.Why.String())
	}
	if notes := verdict.Lines(rows[3].Notes); len(notes) != 1 || !strings.Contains(notes[0], "ran on a and b") {
		t.Errorf("%q", notes)
	}
	same := tableOf([]Contender{
		on(contender("fast", []float64{200, 220}, []float64{5, 5}), "a", "a"),
		on(contender("reference", []float64{100, 110}, []float64{10, 11}), "a", "a"),
	}, "reference")
	if same[0].Places != nil || len(same[1].Notes) > 0 {
		t.Errorf("one place: %+v", same)
	}
}

// What a script prints as a metric of a workload is in the server's column, if its
// workload has one cell; if two workloads have such a metric, each keeps its own.
func TestCompareCommandWithServer(t *testing.T) {
	command := func(metrics map[string]measure.Summary) Contender {
		c := Contender{Arm: Arm{Name: "script"}}
		for range 2 {
			c.Launches = append(c.Launches, Launch{ID: "script", Metrics: metrics})
		}
		return c
	}
	printed := func(as string, v float64) measure.Summary {
		s, _ := measure.SummaryOf("tg", []float64{v})
		s.As = as
		return s
	}
	server := func(cells ...string) Contender {
		c := Contender{Arm: Arm{Name: "server"}}
		for range 2 {
			m := map[string]measure.Summary{}
			for i, cell := range cells {
				m[cell+".tg"], _ = measure.SummaryOf("tg", []float64{100 * float64(i+1)})
			}
			c.Launches = append(c.Launches, Launch{ID: "server", Metrics: m})
		}
		return c
	}
	for _, c := range []struct {
		name    string
		others  []Contender
		printed map[string]measure.Summary
		want    string
	}{
		{
			"one cell",
			[]Contender{server("chat")},
			map[string]measure.Summary{"command.decode": printed("tg", 150)},
			"chat.tg 1.5",
		},
		{
			"several cells",
			[]Contender{server("chat.c1", "chat.c16")},
			map[string]measure.Summary{"command.decode": printed("tg", 150)},
			"command.tg –",
		},
		{
			"two workloads",
			[]Contender{server("chat", "code")},
			map[string]measure.Summary{"command.decode": printed("tg", 150)},
			"command.decode –",
		},
		{"two metrics as one", []Contender{server("chat")}, map[string]measure.Summary{
			"command.a": printed("tg", 150),
			"command.b": printed("tg", 200),
		}, "command.a –, command.b –"},
		{
			"no such metric",
			[]Contender{server("chat")},
			map[string]measure.Summary{"command.tg": printed("", 150)},
			"command.tg –",
		},
		{
			"another script",
			[]Contender{
				{
					Arm: Arm{
						Name:     "server",
						Launches: command(map[string]measure.Summary{"command.speed": printed("tg", 100)}).Launches,
					},
				},
			},
			map[string]measure.Summary{"command.decode": printed("tg", 150)},
			"command.tg 1.5",
		},
	} {
		rows := tableOf(append(c.others, command(c.printed)), "server")
		var got []string
		for _, cell := range rows[1].Cells {
			text := cell.Address + " –"
			if cell.Speedup != nil {
				text = fmt.Sprintf("%s %.4g", cell.Address, *cell.Speedup)
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCompareRefusesGaps(t *testing.T) {
	missing := contender("a", []float64{1, 2}, []float64{1, 2})
	delete(missing.Launches[1].Metrics, "chat.tg")
	nan := contender("a", []float64{1, 2}, []float64{1, 2})
	nan.Launches[0].Metrics["chat.tg"].Stats["median"] = math.NaN()
	empty := contender("a", []float64{1, 2}, []float64{1, 2})
	for _, l := range empty.Launches {
		for address := range l.Metrics {
			if !strings.HasPrefix(address, "engine.") {
				delete(l.Metrics, address)
			}
		}
	}
	for name, c := range map[string]struct {
		of   Contender
		want string
	}{
		"a metric of one launch is missing": {missing, "has no chat.tg"},
		"a value is not a number":           {nan, "has no chat.tg"},
		"one launch":                        {contender("a", []float64{1}, []float64{1}), "at least 2"},
		"no launch":                         {Contender{Arm: Arm{Name: "a"}}, "at least 2"},
		"no metric of a workload":           {empty, "nothing of a was measured"},
	} {
		r := tableOf([]Contender{c.of}, "a")[0]
		if r.Verdict != verdict.Invalid || !strings.Contains(r.Why.String(), c.want) || len(r.Cells) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	// A missing startup time is not a gap.
	some := contender("a", []float64{1, 2}, []float64{1, 2})
	delete(some.Launches[1].Metrics, "engine.startup_s")
	if r := tableOf([]Contender{some}, "a")[0]; r.Verdict != verdict.Pass || len(r.Cells) != 2 {
		t.Errorf("%+v", r)
	}
	// Zero has no ratio.
	rows := tableOf([]Contender{
		contender("a", []float64{0, 0}, []float64{1, 1}), contender("b", []float64{1, 1}, []float64{1, 1}),
	}, "b")
	if c := cell(t, rows[0], "chat.tg"); c.Speedup != nil {
		t.Errorf("%+v", c)
	}
	// A reference that broke has no numbers, and nothing is compared with it.
	broken := contender("reference", []float64{100, 110}, []float64{10, 11})
	broken.Verdict, broken.Why = verdict.Invalid, died("garbage")
	rows = tableOf([]Contender{contender("fast", []float64{200, 220}, []float64{5, 5}), broken}, "reference")
	if len(rows[1].Cells) > 0 || cell(t, rows[0], "chat.tg").Speedup != nil {
		t.Errorf("%+v", rows)
	}
}

// TestMachinesAreNoWorkloads: a metric of the whole launch may be missing, and is shown
// after the workloads; other metrics of the host are not shown.
func TestMachinesAreNoWorkloads(t *testing.T) {
	c := contender("reference", []float64{100, 110}, []float64{10, 11})
	for i, l := range c.Launches {
		l.Metrics["gpu.memory_gb"] = launchSummary(40, "GB")
		if i == 0 {
			l.Metrics["host.memory_gb"] = launchSummary(8, "GB")
			l.Metrics["engine.memory_gb"] = launchSummary(4, "GB")
		}
	}
	rows := tableOf([]Contender{c}, "reference")
	var shown []string
	for _, cell := range rows[0].Cells {
		shown = append(shown, cell.Address)
	}
	if got := strings.Join(shown, " "); rows[0].Verdict != verdict.Pass ||
		got != "chat.tg chat.ttft engine.startup_s gpu.memory_gb" {
		t.Errorf("%s (%s): %s", rows[0].Verdict, rows[0].Why.String(), got)
	}
	for _, l := range c.Launches {
		delete(l.Metrics, "chat.tg")
		delete(l.Metrics, "chat.ttft")
	}
	why := "nothing of reference was measured"
	if rows := tableOf([]Contender{c}, "reference"); rows[0].Verdict != verdict.Invalid ||
		!strings.Contains(rows[0].Why.String(), why) {
		t.Errorf("a GPU alone is no measurement: %+v", rows[0])
	}
}

// made is a matrix of two knobs, whose values multiply a metric, with an interaction.
func made(noise float64, sets map[string]map[string]string,
	of func(set map[string]string) float64,
) (rows []verdict.Row) {
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
	if together := effectOf(all, "a=1", "b=2"); together == nil || !together.Significant() ||
		math.Abs(*together.Change+0.2) > 0.02 {
		t.Errorf("a and b=2 together: %+v", together)
	}
	if none := effectOf(all, "a=1", "b=1"); none == nil || none.Significant() {
		t.Errorf("a and b=1 do nothing together: %+v", none)
	}
	additive := made(0.005, combined, func(set map[string]string) float64 {
		return map[bool]float64{true: 1.2, false: 1}[set["a"] == "1"] * map[string]float64{
			"": 1, "1": 1,
			"2": 0.9,
		}[set["b"]]
	})
	all = Effects(additive, combined)
	for value, want := range map[string]float64{"a=1": 0.2, "b=2": -0.1, "b=1": 0} {
		e := effectOf(all, value, "")
		if e == nil || math.Abs(*e.Change-want) > 0.02 || e.Significant() != (want != 0) || *e.Low > want ||
			*e.High < want {
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
	if got := Effects(rows, combined); got != nil {
		t.Errorf("%v: %v", "without the reference", got)
	}
}
