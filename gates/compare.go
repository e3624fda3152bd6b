package gates

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Contender is one row of a comparison, with its launches of one session.
type Contender struct {
	Arm
	// Reference are the reference's launches of the same rounds, none if it dropped out.
	Reference []Launch
	// Verdict and Why are set if it does not count. It has no numbers then, except if it is only Marked,
	// as a level's limit is not held.
	Verdict verdict.Verdict
	Why     verdict.Reason
	Marked  bool
	Notes   []verdict.Reason
}

// compared lists the metrics of a workload and of a launch that a comparison shows; those
// of a command are all shown.
var compared = []string{"tg", "pp", "ttft", "capacity", "startup_s", "memory_gb"}

// Compare returns the table of a comparison: a row per contender, in order, with
// speed-ups over the one called reference. A contender with a launch that lacks a metric
// the others have is invalid: the missing value might have been the bad one. If the
// reference has no numbers, there are no speed-ups.
func Compare(contenders []Contender, reference string) []verdict.Row {
	rows := make([]verdict.Row, len(contenders))
	at := slices.IndexFunc(contenders, func(c Contender) bool { return c.Name == reference })
	var served []string
	for _, c := range contenders {
		served = append(served, addressesOf(c.Arm)...)
	}
	slices.Sort(served)
	served = slices.Compact(served)
	for i, c := range contenders {
		rows[i] = c.row(served)
	}
	if at < 0 {
		return rows
	}
	if rows[at].Reference = true; rows[at].Places != nil {
		places := verdict.List("places", distinct(rows[at].Places))
		rows[at].Notes = append(verdict.Because(code.WithinRounds, places), rows[at].Notes...)
	}
	for i, c := range contenders {
		if i == at {
			continue
		}
		beside := Contender{Arm: Arm{Name: reference, Launches: c.Reference}}
		if rows[i].Verdict == verdict.Pass && beside.stale() != "" {
			rows[i].Verdict, rows[i].Why = verdict.Inconclusive,
				verdict.Say("row.of_reference", "the reference").From(verdict.New(code.RowNotFresh))
		}
		if of := beside.row(served); len(rows[at].Cells) > 0 {
			for j := range rows[i].Cells {
				speedup(&rows[i].Cells[j], of.Cells, rows[i].Places)
			}
		}
	}
	return rows
}

// row is a contender's, without speed-ups.
func (c Contender) row(served []string) verdict.Row {
	row := verdict.Row{Name: c.Name, Verdict: c.Verdict, Why: c.Why, N: len(c.Launches), Notes: c.Notes}
	if c.Verdict != "" && !c.Marked {
		return row
	}
	cells, err := cellsOf(c.Arm)
	if err != nil {
		row.Verdict, row.Why = verdict.Invalid, verdict.OfError(err)
		return row
	}
	row.Cells = inColumns(cells, c, served)
	if on := c.places(); len(distinct(on)) > 1 {
		row.Places = on
	}
	for i, o := range c.Reference[:min(len(c.Reference), len(c.Launches))] {
		if on := c.Launches[i].Place; on != o.Place {
			row.Verdict, row.Cells = verdict.Invalid, nil
			places := verdict.List("places", []string{
				cmp.Or(on, "an unknown one"), cmp.Or(o.Place, "an unknown one"),
			})
			row.Why = verdict.New(code.RoundApart, verdict.Int("round", i+1), places).On(c.Name)
			return row
		}
	}
	switch {
	case c.Marked:
	case c.stale() != "":
		row.Verdict, row.Why = verdict.Inconclusive, verdict.New(code.RowNotFresh)
	default:
		row.Verdict = verdict.Pass
	}
	return row
}

// inColumns moves a metric that a command prints of a workload into that metric's column:
// beside the servers' cell, if they were sent one, else with those that other commands print. Two that
// would share a column keep their own.
func inColumns(cells []verdict.Cell, c Contender, served []string) []verdict.Cell {
	taken := map[string]int{}
	columns := make([]string, len(cells))
	for i, cell := range cells {
		columns[i] = cell.Address
		if as := c.Launches[0].Metrics[cell.Address].As; as != "" {
			own, _ := measure.SplitAddress(cell.Address)
			others := slices.DeleteFunc(slices.Clone(served), func(other string) bool {
				at, metric := measure.SplitAddress(other)
				return metric != as || strings.Contains(at, ".") || ofMachine(other) || measure.OfCommand(at)
			})
			switch len(others) {
			case 0:
				columns[i] = own + "." + as
			case 1:
				columns[i] = others[0]
			} // else of two workloads, and only the plan's author knows which
		}
		taken[columns[i]]++
	}
	for i := range cells {
		if taken[columns[i]] == 1 {
			cells[i].Address = columns[i]
		}
	}
	return cells
}

// ofMachine reports whether a metric belongs to a launch (its engine or machine) rather
// than to a workload.
func ofMachine(address string) bool {
	cell, _ := measure.SplitAddress(address)
	return cell == "engine" || cell == "gpu" || cell == "host"
}

func cellsOf(a Arm) ([]verdict.Cell, error) {
	if len(a.Launches) < fewLaunches {
		return nil, fault(verdict.Say("launches.few",
			"{launches|launch|launches} of at least {least}: launches of one engine differ",
			verdict.Int("launches", len(a.Launches)), verdict.Int("least", fewLaunches)))
	}
	var cells []verdict.Cell
next:
	for _, address := range addressesOf(a) {
		cell := verdict.Cell{Address: address}
		for _, l := range a.Launches {
			s, ok := l.Metrics[address]
			v, has := s.Stats["median"]
			if !ok && ofMachine(address) {
				continue next // not available everywhere, and not a speed
			}
			if !ok || !has || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fault(l.lacksMetric(address, verdict.Text("others", "yes")))
			}
			cell.Unit, cell.Better = s.Unit, string(s.Better)
			cell.Values = append(cell.Values, v)
		}
		var err error
		if cell.Sample, err = stats.SampleOf(cell.Values); err != nil {
			return nil, fault(verdict.New(code.NoAverage, verdict.Err(err)).On(address))
		}
		cells = append(cells, cell)
	}
	if !slices.ContainsFunc(cells, func(c verdict.Cell) bool { return !ofMachine(c.Address) }) {
		return nil, fault(verdict.Say("launches.nothing_of", "nothing of {subject} was measured").On(a.Name))
	}
	return cells, nil
}

// addressesOf lists the metrics that a comparison shows, of any launch: cell by cell,
// then those of the engine and its GPUs. Other memory of the host is not the engine's.
func addressesOf(a Arm) []string {
	seen := map[string]bool{}
	for _, l := range a.Launches {
		for address := range l.Metrics {
			cell, metric := measure.SplitAddress(address)
			seen[address] = seen[address] || measure.OfCommand(cell) || cell != "host" &&
				slices.Contains(compared, metric)
		}
	}
	var list []string
	for address, show := range seen {
		if show {
			list = append(list, address)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		machine := map[bool]int{true: 1}
		cellA, metricA := measure.SplitAddress(a)
		cellB, metricB := measure.SplitAddress(b)
		order := 0
		if !measure.OfCommand(cellA) {
			order = cmp.Compare(slices.Index(compared, metricA), slices.Index(compared, metricB))
		}
		return cmp.Or(cmp.Compare(machine[ofMachine(a)], machine[ofMachine(b)]), cmp.Compare(cellA, cellB), order,
			cmp.Compare(metricA, metricB))
	})
	return list
}

// speedup relates a cell to the reference's; more than 1 is better. It works within
// rounds if these ran on several places.
func speedup(c *verdict.Cell, reference []verdict.Cell, places []string) {
	at := slices.IndexFunc(reference, func(o verdict.Cell) bool { return o.Address == c.Address })
	if at < 0 || c.Better == string(measure.Neither) {
		return
	}
	own, of := c.Values, reference[at].Values
	if c.Better == string(measure.Lower) {
		own, of = of, own
	}
	d, err := difference(own, of, places, true)
	ratio := math.Exp(d.Estimate)
	if err != nil || math.IsInf(ratio, 0) || ratio == 0 {
		return // no ratio to zero
	}
	c.Speedup = &ratio
	if low, high := math.Exp(d.Low), math.Exp(d.High); d.Bounded && !math.IsInf(high, 0) {
		c.SpeedupLow, c.SpeedupHigh = &low, &high
	}
}
