package plans

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// Suite is a tier of workloads, chosen by --suite: what the benchmark sends in
// place of the workloads that its level names.
type Suite struct {
	Name    string
	Summary string
	// Workloads are names, in the order in which they are sent.
	Workloads []string
	Range     Range `json:"-"`
}

var suiteDoc = &BlockDoc{
	Type: "suite", Times: AnyTimes,
	Labels: []Label{{Name: "name", Doc: "What `--suite <name>` and references call it: `suite.<name>`."}},
	Doc:    "A tier of workloads, such as quick, standard and full. `--suite <name>` has benchmarks send it in place of what they name; a benchmark may name one itself. Rules may read the workloads of every suite: one that was not sent makes them inconclusive.",
	Attrs: []Attr{
		{Name: "summary", Type: String, Doc: "What it is for, in one sentence."},
		{Name: "workloads", Type: Refs, Ref: "workload", Required: true, Doc: "What is sent, in this order."},
	},
	Example: `suite "quick" {
  summary   = "Enough to see whether it is worth more"
  workloads = [workload.chat]
}`,
}

var suiteSchema = suiteDoc.schema()

func (l *loader) decodeSuite(b *hcl.Block) {
	before := len(l.diags)
	defer func() { l.protocolsInDoubt = l.protocolsInDoubt || len(l.diags) > before }()
	f := l.fields(b, suiteSchema, fmt.Sprintf("suite %q", b.Labels[0]))
	s := &Suite{Name: b.Labels[0], Summary: f.text("summary", ""), Range: rangeOf(b.DefRange)}
	f.required("workloads", "what is sent, such as [workload.chat].")
	for _, r := range f.refs("workloads", "workload") {
		s.Workloads = append(s.Workloads, r.key)
	}
	if _, ok := f.value("workloads"); ok && len(s.Workloads) == 0 && len(l.diags) == before {
		l.fail(f.at("workloads"), "Empty workloads", "A suite that sends nothing measures nothing. Name at least one workload, as in [workload.chat].")
	}
	if l.first(b) {
		l.plan.Suites = append(l.plan.Suites, s)
	}
}

// chooseSuite takes the suite of the command line.
func (l *loader) chooseSuite() {
	name := l.opts.Suite
	if l.opts.As != nil {
		name = l.opts.As.Suite
	}
	if name == "" {
		return
	}
	l.plan.Suite = name
	if l.symbols.has("suite", name) {
		return
	}
	l.plan.Suite = ""
	hint := l.didYouMean(name, l.symbols.of("suite").order)
	if hint == "" {
		hint = " It declares none; add: suite \"" + name + "\" { workloads = [workload.name] }, on lines of its own, or leave --suite out."
	}
	l.fail(l.start(), "Unknown suite in --suite", "The plan declares no suite %q.%s", name, hint)
}

// SuiteOf is the suite of that name, nil where the plan has none.
func (p *Plan) SuiteOf(name string) *Suite {
	return find(p.Suites, func(s *Suite) bool { return s.Name == name })
}

// Sent are the names of the workloads that a benchmark sends: those of the
// chosen suite, else of the suite that it names, else those that it names. A
// benchmark that names neither is of a command, which brings its own work.
func (p *Plan) Sent(benchmark *Block) (names []string) {
	own := p.named(benchmark)
	if s := p.SuiteOf(p.Suite); s != nil && len(own) > 0 {
		return s.Workloads
	}
	return own
}

// sendable are the workloads that a benchmark sends under one suite or another.
func (p *Plan) sendable(benchmark *Block) []string {
	names := p.named(benchmark)
	if len(names) == 0 {
		return nil
	}
	all := append([]string(nil), names...)
	for _, s := range p.Suites {
		for _, name := range s.Workloads {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// unsent says why no launch of a protocol has a workload; empty where it is sent.
func (ns *namespace) unsent(protocol, workload string) string {
	switch {
	case slices.Contains(ns.sent[protocol], workload):
		return ""
	case ns.plan.Suite != "":
		return fmt.Sprintf("suite %q was chosen, and it does not send workload %s", ns.plan.Suite, workload)
	}
	return fmt.Sprintf("the benchmark of protocol %q does not send workload %s; %s", protocol, workload, ns.suitesOf(workload))
}

// suitesOf words which suites send a workload.
func (ns *namespace) suitesOf(workload string) string {
	var names []string
	for _, s := range ns.plan.Suites {
		if slices.Contains(s.Workloads, workload) {
			names = append(names, "--suite "+s.Name)
		}
	}
	return orList(names) + " does"
}

// named are the workloads that a benchmark names, itself or by a suite.
func (p *Plan) named(benchmark *Block) (names []string) {
	if benchmark == nil {
		return nil
	}
	if name, ok := benchmark.Attrs["suite"].(string); ok {
		if s := p.SuiteOf(name); s != nil {
			return s.Workloads
		}
	}
	for _, w := range anyList(benchmark.Attrs["workloads"]) {
		if name, ok := w.(string); ok {
			names = append(names, name)
		}
	}
	return names
}
