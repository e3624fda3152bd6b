package plans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// Protocol is the ordered test levels.
type Protocol struct {
	Name   string `hcl:"name,label" doc:"Its name in references: 'protocol.<name>'."`
	Levels []*Block
	// Regression is what must not get worse, nil if the protocol does not say. It runs
	// nothing: features that go through the protocol get criteria from it.
	Regression *Regression `json:",omitempty"`
	Range      Range       `json:"-"`
}

// Level is the first level of a kind, nil if the protocol has none.
func (p *Protocol) Level(kind string) *Block {
	for _, b := range p.Levels {
		if b.Kind == kind {
			return b
		}
	}
	return nil
}

// LevelNames are the names of its levels, in order; nil if p is nil.
func (p *Protocol) LevelNames() []string {
	if p == nil {
		return nil
	}
	return Names(p.Levels, (*Block).Level)
}

// BenchmarkLevel is the level whose launches are measured; all others run in the
// launch that qualifies a variant.
const BenchmarkLevel = "benchmark"

// RegressionLevel is the level that is decided from the benchmark's launches.
const RegressionLevel = "regression"

type Regression struct {
	// Decisive are addresses of metrics that must be shown not to get worse.
	Decisive []string `json:"decisive"`
	// MaxSlowdown is the share by which they may get worse, MaxMemoryIncrease, in GB, the
	// same for memory.
	MaxSlowdown       float64 `json:"max_slowdown"`
	MaxMemoryIncrease float64 `json:"max_memory_increase_gb"`
	// Against are the arms, besides the parent, that this is checked against.
	Against []Against `json:"against,omitempty"`
	At      Range     `json:"-"`
}

// Criteria are the rules that a feature gets from it; none if r is nil.
func (r *Regression) Criteria() (rules []*Rule) {
	if r == nil {
		return nil
	}
	for _, against := range append([]Against{Parent}, r.Against...) {
		for _, metric := range r.Decisive {
			bound := &Bound{Address: metric + against.Suffix() + ".gain", Op: ">=", Limit: -r.MaxSlowdown}
			if IsMemory(metric) {
				bound = &Bound{Address: metric + against.Suffix() + ".delta", Op: "<=", Limit: r.MaxMemoryIncrease}
			}
			rules = append(rules, &Rule{
				Name:  RegressionLevel + " " + metric + against.Suffix(),
				Expr:  fmt.Sprintf("%s %s %v", bound.Address, bound.Op, bound.Limit),
				Bound: bound, Range: r.At, ExprRange: r.At,
			})
		}
	}
	return rules
}

// Answers is how far a candidate's answers must be its parent's.
type Answers struct {
	// Unchecked is set if a plan declares that answers are not compared.
	Unchecked bool `json:"unchecked,omitempty"`
	// Least is the declared share of positions at which the parent must agree; nil if it
	// must agree about as often as with itself.
	Least *float64 `json:"least,omitempty"`
}

// CorrectnessLevel is the level that says so, if a protocol has one.
const CorrectnessLevel = "correctness"

// EvalLevel is the level that grades answers. It fails beside the benchmark: what loses
// accuracy is measured all the same.
const EvalLevel = "eval"

// Answers returns what a protocol declares of answers.
func (p *Protocol) Answers() (a Answers) {
	if p == nil || p.Level(CorrectnessLevel) == nil {
		return a
	}
	attrs := p.Level(CorrectnessLevel).Attrs
	a.Unchecked = attrs["answers"] == "unchecked"
	if least, declared := attrs["min_agreement"].(float64); declared {
		a.Least = &least
	}
	return a
}

// IsMemory reports whether an address is a memory metric, whose limit is in GB.
func IsMemory(metric string) bool {
	m, ok := measure.LookupAddress(metric)
	return ok && m.Unit == "GB"
}

// ComparisonContent is the content of a step that compares.
type ComparisonContent struct {
	Engines   []string `json:"engines"`
	Reference string   `json:"reference"`
	Optional  []string `json:"optional"`
	Workloads []string `json:"workloads"`
	Protocol  string   `json:"protocol"`
	Launches  int      `json:"launches"`
}

// CompareStep is the kind of step that compares engines.
const CompareStep = "compare"

// Suite is a tier of workloads, chosen by --suite: what the benchmark sends in
// place of the workloads that its level names.
type Suite struct {
	Name      string   `hcl:"name,label" doc:"Its name in '--suite <name>' and references: 'suite.<name>'."`
	Summary   string   `hcl:"summary,optional" doc:"Its purpose, in one sentence."`
	Workloads []string `hcl:"workloads" ref:"workload" needs:"what is sent, such as [workload.name]." doc:"Workloads to send, in this order."`
	Range     Range    `json:"-"`
}

// SuiteOf is the suite of that name, nil if the plan has none.
func (p *Plan) SuiteOf(name string) *Suite {
	return Find(p.Suites, func(s *Suite) bool { return s.Name == name })
}

// SentWorkloads are the names of the workloads that a benchmark sends: those of the chosen suite,
// else of the suite that it names, else those that it names. A benchmark that names
// neither belongs to a command, which brings its own work.
func (p *Plan) SentWorkloads(benchmark *Block) (names []string) {
	own := p.named(benchmark)
	if s := p.SuiteOf(p.Suite); s != nil && len(own) > 0 {
		return s.Workloads
	}
	return own
}

// SentCells are the addresses of the cells that the baseline is sent.
func (p *Plan) SentCells() (addresses []string) {
	if b := p.Protocol(p.Baseline.Protocol).Level(BenchmarkLevel); b != nil {
		for _, sent := range p.SentWorkloads(b) {
			for _, c := range p.Workload(sent).Cells() {
				addresses = append(addresses, c.Address)
			}
		}
	}
	return addresses
}

// Sendable are the workloads that a benchmark sends under one suite or another.
func (p *Plan) Sendable(benchmark *Block) []string {
	names := p.named(benchmark)
	if len(names) == 0 {
		return nil
	}
	all := slices.Clone(names)
	for _, s := range p.Suites {
		for _, name := range s.Workloads {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// named are the workloads that a benchmark names, directly or by a suite.
func (p *Plan) named(benchmark *Block) (names []string) {
	if benchmark == nil {
		return nil
	}
	if name, ok := benchmark.Attrs["suite"].(string); ok {
		if s := p.SuiteOf(name); s != nil {
			return s.Workloads
		}
	}
	for _, w := range AnyList(benchmark.Attrs["workloads"]) {
		if name, ok := w.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

func AnyList(v any) []any {
	list, _ := v.([]any)
	return list
}

// Decision is how a plan's gates decide: the error rates that they keep to, and how many
// launches an arm may take. See docs/statistics.md.
type Decision struct {
	FalsePass float64  `hcl:"false_pass,optional" default:"0.01" min:"0.0001" max:"0.5" doc:"Maximum chance that a rule passes a narrowly false claim."`
	FalseFail float64  `hcl:"false_fail,optional" default:"0.05" min:"0.0001" max:"0.5" doc:"Maximum chance that a rule fails a narrowly true claim."`
	_         struct{} `hcl:"launches,optional" type:"map of min and max to numbers" default:"{\"min\":2,\"max\":8}" unit:"launches per arm" min:"1" max:"1000" doc:"First and last look at the rules, by launches. The first is at 'min' launches per arm, or at 4 if no launch-to-launch variance is recorded; the last is at 'max'. Two launches decide only clear cases, by recorded variance. A benchmark's own 'launches' replaces 'max'."`
	// Min and Max are launches per arm: the first look is at Min (at two only if launch
	// noise is recorded; otherwise it is later), the last at Max.
	Min, Max int
}

// usualDecision is how gates decide in a plan without a decision block. If one of these
// numbers changes, digestVersion must change too: a plan's digest leaves them out.
var usualDecision = func() Decision {
	d := Decision{Min: 2, Max: 8}
	fill(&d)
	return d
}()

// UsualDecision is how gates decide in a plan without a decision block.
func UsualDecision() Decision { return usualDecision }

// FirstLook is the number of launches per arm before which nothing is decided if no
// launch noise is recorded: engines whose starts are bimodal look alike for that long
// (docs/statistics.md).
const FirstLook = 4

// LaunchesOf is the least and most launches of each arm of a feature: the last look is at
// the number that its benchmark sets, or else the decision block. The name may be that of
// an alternative or a confirmation. Both are 0 if the plan does not have the feature.
func (p *Plan) LaunchesOf(feature string) (least, most int) {
	if i := strings.IndexAny(feature, "[@"); i > 0 {
		feature = feature[:i]
	}
	f := p.Feature(feature)
	if f == nil {
		return 0, 0
	}
	return p.LaunchesUnder(f.Protocol)
}

func (p *Plan) LaunchesUnder(protocol string) (least, most int) {
	least, most = usualDecision.Min, usualDecision.Max
	if d := p.Decision; d != nil {
		least, most = d.Min, d.Max
	}
	if pr := p.Protocol(protocol); pr != nil {
		if b := pr.Level(BenchmarkLevel); b != nil {
			if n, ok := b.Attrs["launches"].(float64); ok && n >= 1 {
				most = int(n)
			}
		}
	}
	return min(least, most), most
}
