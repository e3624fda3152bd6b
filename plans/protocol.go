package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// Protocol is the ordered test levels.
type Protocol struct {
	Name   string
	Levels []*Block
	Range  Range `json:"-"`
}

// Level is the level of a kind, nil where the protocol has none.
func (p *Protocol) Level(kind string) *Block {
	for _, b := range p.Levels {
		if b.Kind == kind {
			return b
		}
	}
	return nil
}

var protocolDoc = &BlockDoc{
	Type: "protocol", Times: AnyTimes,
	Labels: []Label{{Name: "name", Doc: "What references call it: `protocol.<name>`."}},
	Doc:    "The test levels that a variant goes through, in order. All but the benchmark run in one qualification launch that is never measured. A level that does not pass stops the ones after it; they are invalid, with the root cause.",
	Blocks: []*BlockDoc{levelDoc},
	Example: `protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}`,
}

var levelDoc = &BlockDoc{
	Type: "level", Times: AtLeast1,
	Labels: []Label{{Name: "kind", Doc: "What is tested. Each kind stands at most once in a protocol."}},
	Doc:    "One test level.",
}

var protocolSchema = protocolDoc.schema()

func (l *loader) decodeProtocol(b *hcl.Block) {
	before := len(l.diags)
	defer func() { l.protocolsInDoubt = l.protocolsInDoubt || len(l.diags) > before }()
	f := l.fields(b, protocolSchema, fmt.Sprintf("protocol %q", b.Labels[0]))
	p := &Protocol{Name: b.Labels[0], Range: rangeOf(b.DefRange)}
	lines := map[string]int{}
	for _, lb := range f.blocks {
		kind := lb.Labels[0]
		schema, known := l.reg.Levels[kind]
		if !known {
			l.fail(lb.LabelRanges[0], "Unknown level", "There is no level %q.%s", kind, l.didYouMean(kind, keysOf(l.reg.Levels)))
			continue
		}
		level := l.decodeBlock(lb, schema, fmt.Sprintf("level %q", kind))
		if line := lines[kind]; line > 0 {
			l.fail(lb.LabelRanges[0], "Duplicate level", "Protocol %q has a level %q already on line %d. Merge them.", p.Name, kind, line)
			continue
		}
		lines[kind] = lb.DefRange.Start.Line
		p.Levels = append(p.Levels, level)
	}
	if len(f.blocks) == 0 {
		l.fail(b.DefRange, "Protocol without levels", `A protocol is the tests that a variant goes through, in order. Add at least one: level "smoke" { … }.`)
	}
	if l.first(b) {
		l.plan.Protocols = append(l.plan.Protocols, p)
	}
}
