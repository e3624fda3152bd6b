package session

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/design"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// MatrixSchema is the schema of a matrix of knob combinations.
var MatrixSchema = plans.Schema{
	Doc: "Measures combinations of knobs against the baseline, which all share: each cell is qualified by the levels of a protocol and measured in fresh launches interleaved by rounds. Cells enter no stack. Shows the best cell of each metric, the effect of each value alone and the additional effect of pairs, with bounds; for a cell that breaks, further launches find a smallest set of values that still breaks. Passes when every cell was measured. From 4 launches, the gates of its phase and later ones read a cell (`matrix.together[\"kv_cache=on\"].chat.tg.gain >= 0.05`), the best one (`matrix.together.best.chat.tg.gain`) and effects (`matrix.together.effect[\"kv_cache=on\"].chat.tg.gain`).",
	Example: `step "matrix" "together" {
  knobs     = { kv_cache = ["off", "on"], experts = ["all", "routed"] }
  design    = "full"
  workloads = [workload.chat]
  protocol  = protocol.standard
}`,
	Attrs: []plans.Attr{
		{Name: "knobs", Type: plans.Anything, Required: true, Doc: "The values to combine, as lists by knob. All other knobs are as in the baseline."},
		{Name: "design", Type: plans.String, Default: string(design.Full), OneOf: design.Kinds, Doc: "`full`: all combinations. `pairwise`: every pair of values in at least one cell. `one_at_a_time`: each value alone."},
		{Name: "exclude", Type: plans.Anything, Doc: "Combinations to exclude, as a list of maps: `[{ moe_kernel = \"gemm\", activation = \"bf16\" }]`."},
		{Name: "include", Type: plans.Anything, Doc: "Cells to include in any case, as a list of maps; unnamed knobs have the baseline's value."},
		{Name: "workloads", Type: plans.Refs, Ref: "workload", Required: true, Doc: "What is sent, in this order; `--suite` sends those of a suite instead."},
		{Name: "protocol", Type: plans.Reference, Ref: "protocol", Required: true, Doc: "Its levels except the benchmark qualify each cell, in one launch that is not measured."},
		{Name: "launches", Type: plans.Int, Default: 3.0, Unit: "launches per cell", Min: 2, MinSet: true, Max: 12, Doc: "Measured launches of the baseline and of each cell."},
		{Name: "max_launches", Type: plans.Int, Unit: "launches", Min: 4, MinSet: true, Doc: "Maximum number of measured launches in total. They go to the cells that cover the most pairs of values."},
		{Name: "max_time", Type: plans.Duration, Doc: "Approximate time limit. Cells whose first launch would start after its share of that are left out."},
		{Name: "may_break", Type: plans.Bool, Default: false, Doc: "Cells that break stay in the table, and the step passes without them. A gate can bound them: `step.together.broken <= 1`."},
	},
	Finds: func(*plans.Block) []plans.Found { return matrixFinds },
}

// What gates read of a matrix.
const (
	foundMeasured = "measured"
	foundBroken   = "broken"
	foundLeft     = "left_out"
)

var matrixFinds = []plans.Found{
	{Name: foundMeasured, Unit: "count", Better: "higher", Doc: "Cells that were measured, including the baseline."},
	{Name: foundBroken, Unit: "count", Better: "lower", Doc: "Cells that broke: in a level, or while they were measured."},
	{Name: foundLeft, Unit: "count", Better: "lower", Doc: "Cells that `max_launches` or `max_time` left out."},
}

// matrix is the part of a comparison whose rows are combinations of knobs.
type matrix struct {
	plans.Matrix
	// sets are the values in which rows differ from the baseline, by name, and left how
	// many cells have no launch.
	sets map[string]map[string]string
	left int
	// began is when this apply resumed it, qualified which rows it has qualified.
	began     time.Time
	qualified map[*variant.Variant]bool
	// crashed are the rows whose engine died.
	crashed map[string]bool
}

// combine makes the rows: the baseline, and one per cell.
func (c *compare) combine(s *runtime.Scope, out *comparison) error {
	m := &matrix{sets: map[string]map[string]string{ledger.Baseline: {}}, began: time.Now(), qualified: map[*variant.Variant]bool{}, crashed: map[string]bool{}}
	if err := c.block.Decode(&m.Matrix); err != nil {
		return err
	}
	cells, left, err := c.lab.Plan.MatrixCells(&m.Matrix)
	if err != nil {
		return err
	}
	m.left = left
	out.matrix, out.Reference, out.Protocol, out.Launches = m, ledger.Baseline, m.Protocol, m.Launches
	if err := c.named(out); err != nil {
		return err
	}
	engine, base := c.lab.Plan.Baseline.Engine, c.lab.Plan.DefaultKnobs()
	if err := c.row(s, out, ledger.Baseline, engine, base); err != nil {
		return err
	}
	for _, cell := range cells {
		knobs := maps.Clone(base)
		maps.Copy(knobs, cell.Set)
		m.sets[cell.Name] = cell.Set
		if m.MayBreak {
			out.Optional = append(out.Optional, cell.Name)
		}
		if err := c.row(s, out, cell.Name, engine, knobs); err != nil {
			return err
		}
	}
	return nil
}

// late reports whether a cell would start after its share of the time: in the first
// round, which the others repeat.
func (m *matrix) late(it *comparison, sl slot) bool {
	if m.MaxTime <= 0 || sl.ordinal > 1 || sl.variant.Name == it.Reference || len(sl.of(it.have)) > 0 {
		return false
	}
	spent := time.Since(m.began).Seconds()
	for _, l := range it.have {
		spent += l.Seconds
	}
	return spent > time.Duration(m.MaxTime).Seconds()/float64(m.Launches)
}

// counts records the number of cells of each kind as a launch, so gates read them like
// other numbers.
func (c *compare) counts(s *runtime.Scope, it *comparison, began time.Time, out *ledger.Decision) error {
	id := "step-" + runtime.ShortID(s.Run, s.Node.ID, s.Attempt)
	l := &ledger.Launch{
		ID: id, Session: id, Purpose: ledger.ForStep, Node: s.Node.ID, Variant: c.block.Name, Ordinal: 1, Order: 1, OK: true,
		Started: began.UTC(), Seconds: time.Since(began).Seconds(), Metrics: c.counted(it, out.Rows),
	}
	out.Launches = append(out.Launches, id)
	return c.lab.Store.Append(&ledger.Record{Type: "launch", Time: time.Now().UTC(), Run: s.Run, Launch: l})
}

// counted is the number of cells of each kind, by address.
func (c *compare) counted(it *comparison, rows []verdict.Row) map[string]measure.Summary {
	n := map[string]int{foundMeasured: 0, foundBroken: 0, foundLeft: it.matrix.left}
	for _, r := range rows {
		switch {
		case r.Verdict == verdict.Pass:
			n[foundMeasured]++
		case breaks(r.Verdict):
			n[foundBroken]++
		default:
			n[foundLeft]++
		}
	}
	found := map[string]measure.Summary{}
	for _, f := range matrixFinds {
		found[plans.FoundAddress(c.block.Name, f.Name)], _ = measure.Metric{Unit: f.Unit, Better: measure.Better(f.Better)}.Summary([]float64{float64(n[f.Name])})
	}
	return found
}

// mostNarrowing limits the further launches of all cells that break.
const mostNarrowing = 16

// narrow finds, for each cell that breaks, a minimal set of values that still does:
// setting any of them back to the baseline's value fixes it. What is known of other cells
// costs no launch.
func (c *compare) narrow(ctx context.Context, s *runtime.Scope, it *comparison, out *ledger.Decision) error {
	known := map[string]bool{} // by name, whether it breaks
	for _, r := range out.Rows {
		known[r.Name] = breaks(r.Verdict)
	}
	spent := 0
rows:
	for _, r := range out.Rows {
		if !breaks(r.Verdict) || c.lost(r.Name, out) || len(it.matrix.sets[r.Name]) < 2 {
			continue
		}
		// A cell that broke during measurement is tried by measuring.
		measured := !slices.ContainsFunc(out.Levels, func(l ledger.Level) bool {
			return strings.HasPrefix(l.Name, r.Name+"/") && l.Verdict != verdict.Pass
		})
		set := maps.Clone(it.matrix.sets[r.Name])
		for _, knob := range slices.Sorted(maps.Keys(set)) {
			if len(set) == 1 {
				break
			}
			smaller := maps.Clone(set)
			delete(smaller, knob)
			name := c.lab.Plan.SetName(smaller)
			broken, seen := known[name]
			if !seen {
				if spent == mostNarrowing {
					out.Reasons = append(out.Reasons, verdict.New(code.NotNarrowed, verdict.Int("launches", spent)).On(r.Name))
					return nil
				}
				spent++
				var err error
				if broken, err = c.tried(ctx, s, it, name, smaller, measured, out); err != nil {
					return err
				}
				if c.lost(name, out) {
					out.Reasons = append(out.Reasons, verdict.New(code.NotNarrowed, verdict.Int("launches", spent)).On(r.Name))
					continue rows
				}
				known[name] = broken
			}
			if broken {
				set = smaller
			}
		}
		out.Reasons = append(out.Reasons, verdict.New(code.BreaksWith, verdict.Text("set", c.lab.Plan.SetName(set))).On(r.Name))
	}
	return nil
}

// lost reports whether it is unknown how the last launch of a combination ended, which
// says nothing about it.
func (c *compare) lost(name string, out *ledger.Decision) bool {
	for _, id := range slices.Backward(out.Launches) {
		if l, ok := c.lab.Store.LaunchByID(id); ok && l.Variant == name {
			return decide.Lost(l)
		}
	}
	return false
}

// breaks tells a broken cell from one that was not launched.
func breaks(v verdict.Verdict) bool {
	return v == verdict.Fail || v == verdict.Invalid || v == verdict.Error
}

// tried reports whether a combination breaks: in the levels of the protocol, and if
// measured is set in one measured launch.
func (c *compare) tried(ctx context.Context, s *runtime.Scope, it *comparison, name string, set map[string]string, measured bool, out *ledger.Decision) (bool, error) {
	knobs := c.lab.Plan.DefaultKnobs()
	maps.Copy(knobs, set)
	v, err := c.lab.Resolve(s, name, c.lab.Plan.Baseline.Engine, knobs)
	if err != nil {
		return false, err
	}
	e := &gates.Contender{}
	if err := c.qualify(ctx, s, it, v, e, out); err != nil || breaks(e.Broken) || !measured {
		return breaks(e.Broken), err
	}
	b := &benchmark{lab: c.lab}
	// A session of this run's own: another apply may try the same once more.
	var launch *ledger.Launch
	for tries := []*ledger.Launch(nil); launch == nil || decide.Lost(launch) && len(tries) <= decide.MaxReplaced; tries = append(tries, launch) {
		if launch, err = b.one(ctx, s, "s-"+runtime.ShortID(s.Run, s.Node.ID, name), slot{variant: v, ordinal: 1, order: 1, number: 1}, 1, it.workloads, tries); err != nil {
			return false, err
		}
	}
	out.Launches = append(out.Launches, launch.ID)
	if !launch.OK {
		return true, nil
	}
	reference := slices.DeleteFunc(c.lab.session(it.session), func(l *ledger.Launch) bool { return l.VariantKey != it.variants[0].Key })
	got, _, _, err := c.doubted(ctx, it, v, []*ledger.Launch{launch}, reference)
	return breaks(got), err
}
