package session

import (
	"maps"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// MatrixSchema is the schema of a matrix of knob combinations.
var MatrixSchema = plans.Schema{
	Doc: "Measures combinations of knobs (cells) against one baseline. Each cell is qualified by the levels of a " +
		"protocol and measured in fresh launches interleaved by rounds. Cells enter no stack. Shows the best cell of " +
		"each metric, the effect of each value alone and the additional effect of pairs, with bounds. Passes when " +
		"every cell was measured. From 4 launches, the gates of its phase and later ones read a cell: " +
		"`matrix.together[\"kv_cache=on\"].chat.tg.gain >= 0.05`.",
	Example: `step "matrix" "together" {
  knobs     = { kv_cache = ["off", "on"], experts = ["all", "routed"] }
  design    = "full"
  workloads = [workload.chat]
  protocol  = protocol.standard
}`,
	Attrs: []plans.Attr{
		{
			Name: "knobs", Type: plans.Anything, Required: true,
			Doc: "The values to combine, as lists by knob. All other knobs are as in the baseline.",
		},
		{Name: "design", Type: plans.String, Default: plans.FullDesign, OneOf: []string{
			plans.FullDesign,
			plans.OneAtATime,
		}, Doc: "All combinations (`full`), or each value alone (`one_at_a_time`)."},
		{
			Name: "exclude", Type: plans.Anything,
			Doc: "Combinations to exclude, such as `[{ moe_kernel = \"gemm\" }]`. Each map can name several knobs: " +
				"`{ moe_kernel = \"gemm\", activation = \"bf16\" }`.",
		},
		{
			Name: "include", Type: plans.Anything,
			Doc: "Cells to include in any case, as maps. Unnamed knobs have the baseline's value.",
		},
		{
			Name: "workloads", Type: plans.Refs, Ref: "workload", Required: true,
			Doc: "Workloads to send, in this order. `--suite` sends those of a suite instead.",
		},
		{
			Name: "protocol", Type: plans.Reference, Ref: "protocol", Required: true,
			Doc: "Its levels qualify each cell before it is measured. One launch, which is not measured, runs all of " +
				"them except the benchmark.",
		},
		{
			Name: "launches", Type: plans.Int, Default: 3.0, Unit: "launches per cell", Min: 2, MinSet: true, Max: 12,
			Doc: "Measured launches of the baseline and of each cell.",
		},
		{
			Name: "may_break", Type: plans.Bool, Default: false,
			Doc: "Whether the step passes without cells that break. They stay in the table. A rule that reads one " +
				"does not pass.",
		},
	},
}

// cells makes an arm of the baseline, and one of each cell.
func (t *table) cells(b *plans.Block) (arms []arm, err error) {
	m := &plans.Matrix{}
	if err := b.Decode(m); err != nil {
		return nil, err
	}
	cells, err := t.lab.Variants.Plan.MatrixCells(m)
	if err != nil {
		return nil, err
	}
	t.Reference, t.Protocol, t.Launches = ledger.Baseline, m.Protocol, m.Launches
	t.sets = map[string]map[string]string{ledger.Baseline: {}}
	t.measured = func(rows int, v verdict.Verdict) []verdict.Reason {
		if v == verdict.Error {
			return nil
		}
		return verdict.Because(code.Of("matrix.done", "{cells} of {of} cells measured, {launches} launches each"),
			verdict.Int("cells", rows), verdict.Int("of", len(arms)), verdict.Int("launches", t.Launches))
	}
	engine, base := t.lab.Variants.Plan.Baseline.Engine, t.lab.Variants.Plan.DefaultKnobs()
	arms = []arm{{ledger.Baseline, engine, base}}
	for _, cell := range cells {
		knobs := maps.Clone(base)
		maps.Copy(knobs, cell.Set)
		if t.sets[cell.Name] = cell.Set; m.MayBreak {
			t.Optional = append(t.Optional, cell.Name)
		}
		arms = append(arms, arm{cell.Name, engine, knobs})
	}
	return arms, nil
}
