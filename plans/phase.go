package plans

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// Phase is a set of steps and feature ports behind one gate.
type Phase struct {
	Name    string
	Summary string
	// After must have passed; AfterDecided must merely be decided.
	After, AfterDecided []string
	Steps               []*Block
	Features            []*Feature
	// Gate is nil for a phase that passes when its steps and features pass.
	Gate  *Gate
	Range Range `json:"-"`
}

var phaseDoc = &BlockDoc{
	Type: "phase", Times: AnyTimes, Repeats: true,
	Labels: []Label{{Name: "name", Doc: "What references call it: `phase.<name>`."}},
	Doc:    "A set of steps and feature ports behind one gate. It has at least one step, feature or gate.",
	Attrs: []Attr{
		{Name: "summary", Type: String, Doc: "What it is for, in one sentence."},
		{Name: "after", Type: Refs, Ref: "phase", Doc: "Phases whose gate must pass, or be waived, first."},
		{Name: "after_decided", Type: Refs, Ref: "phase", Doc: "Phases whose gate must merely be decided: pass, fail or inconclusive."},
	},
	Blocks: []*BlockDoc{stepDoc, featureDoc, gateDoc},
	Example: `phase "cutlass" {
  summary = "CUTLASS kernels for MXFP4"

  step "exec" "clean" {
    command = ["git", "diff", "--quiet"]
  }
  feature "gemm" {
    set = { moe_kernel = "gemm" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.10"
    }
  }
  gate {
    rule "decode did not regress" {
      expr = "chat.tg.gain >= -0.03"
    }
  }
}`,
}

var stepDoc = &BlockDoc{
	Type: "step", Times: AnyTimes,
	Labels: []Label{{Name: "kind", Doc: "What is done."}, {Name: "name", Doc: "What reports call it. Unique in the phase."}},
	Doc:    "Work before the features of the phase, in the order written.",
}

var phaseSchema = phaseDoc.schema()

func (l *loader) decodePhase(pb *phaseBlock) {
	b := pb.block
	ph := &Phase{Name: b.Labels[0], Summary: pb.text("summary", ""), Range: rangeOf(b.DefRange)}
	ph.After = l.decodeAfter(ph, pb, "after", nil)
	ph.AfterDecided = l.decodeAfter(ph, pb, "after_decided", ph.After)
	ph.Steps = l.decodeSteps(pb.blocks.OfType("step"))
	for _, fb := range pb.features {
		l.within(fb.instance, func() {
			if f := l.decodeFeature(fb, ph); fb.first {
				ph.Features = append(ph.Features, f)
			}
		})
	}
	if g := pb.single("gate"); g != nil {
		ph.Gate = l.decodeGate(g)
	}
	if len(pb.blocks) == 0 {
		l.fail(b.DefRange, "Empty phase", "A phase with neither step, feature nor gate does nothing and decides nothing. Add one of them, or remove the phase.")
	}
	if pb.first {
		l.plan.Phases = append(l.plan.Phases, ph)
	}
}

// decodeAfter reads the phases that come before this one.
func (l *loader) decodeAfter(ph *Phase, pb *phaseBlock, attr string, already []string) (list []string) {
	for _, r := range pb.refs(attr, "phase") {
		switch {
		case r.key == ph.Name:
			l.fail(r.at, "Phase after itself", "Phase %q cannot come after itself. Remove it from %s.", ph.Name, attr)
			continue
		case slices.Contains(already, r.key):
			l.fail(r.at, "Duplicate reference", "%s is in after already, which asks for more. Remove one.", r)
			continue
		}
		list = append(list, r.key)
		if pb.first {
			l.checks.edge(ph.Name, r.key, attr, r.at)
		}
	}
	return list
}

func (l *loader) decodeSteps(blocks hcl.Blocks) (steps []*Block) {
	lines := map[string]int{}
	for _, b := range blocks {
		kind, name := b.Labels[0], b.Labels[1]
		l.checkName(b, 1, 0)
		schema, known := l.reg.Steps[kind]
		if !known {
			l.fail(b.LabelRanges[0], "Unknown step kind", "There is no step kind %q.%s", kind, l.didYouMean(kind, keysOf(l.reg.Steps)))
			continue
		}
		step := l.decodeBlock(b, schema, fmt.Sprintf("step %q %q", kind, name))
		if line := lines[name]; line > 0 {
			l.fail(b.LabelRanges[1], "Duplicate step", "The phase has a step %q already on line %d. Rename or remove one.", name, line)
			continue
		}
		lines[name] = b.DefRange.Start.Line
		steps = append(steps, step)
	}
	return steps
}
