package steps

import (
	"context"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/variant"
)

// executionLevel is the level that every command has, whatever its protocol
// says: it is run once, and what it prints is looked at. It stands in no plan.
const executionLevel = "execution"

// kernelsLevel is the level that reads the log.
const kernelsLevel = "kernels"

// execution is the level of that name.
type execution struct{ of *variant.Command }

func (e execution) run(ctx context.Context, q *qualification) (verdict.Verdict, []verdict.Reason, error) {
	if err := q.Execute(ctx, e.of, true); err != nil {
		return "", nil, err
	}
	q.answered = true
	reasons := verdict.Because(code.MetricsPrinted, verdict.Int("metrics", len(e.of.Metrics)))
	for _, m := range e.of.Metrics {
		s := q.Record.Metrics["command."+m.Name]
		reasons = append(reasons, verdict.New(code.MetricValues, verdict.Int("values", s.N), verdict.Num("median", s.Stats["median"], s.Unit)).On(m.Name))
	}
	return verdict.Pass, reasons, nil
}

// levelsOf are the levels that the qualification launch of a variant serves. A
// command answers nobody, so that nothing but its log can be looked at; and an
// engine of a comparison that no knob is applied to has no kernels to prove.
func levelsOf(p *plans.Protocol, v *variant.Variant) []*plans.Block {
	blocks := slices.DeleteFunc(qualificationLevels(p), func(b *plans.Block) bool {
		return v.Command != nil && b.Kind != kernelsLevel || v.Knobs == nil && b.Kind == kernelsLevel
	})
	if v.Command != nil {
		return slices.Insert(blocks, 0, &plans.Block{Kind: executionLevel})
	}
	return blocks
}

// levelFor makes the level of a block.
func levelFor(b *plans.Block, v *variant.Variant) (level, error) {
	if b.Kind == executionLevel {
		return execution{v.Command}, nil
	}
	return levelKinds[b.Kind].make(b)
}
