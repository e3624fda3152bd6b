package load

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

var suiteDoc = block(plans.Suite{}, lang.BlockDoc{
	Type: "suite", Times: plans.AnyTimes,
	Doc: "A tier of workloads, which `--suite <name>` makes benchmarks send. Usual names are quick, standard and " +
		"full. It replaces their own workloads; a benchmark can also name one itself. Rules can read the workloads " +
		"of every suite: one that was not sent makes them inconclusive.",
})

func (l *loader) decodeSuite(b *hcl.Block) {
	before := len(l.Diags)
	defer func() { l.protocolsInDoubt = l.protocolsInDoubt || len(l.Diags) > before }()
	s := &plans.Suite{}
	l.Read(b, suiteDoc, s)
	add(l, b, &l.plan.Suites, s)
}

func (l *loader) chooseSuite() {
	name := l.opts.Suite
	if name == "" {
		return
	}
	l.plan.Suite = name
	if l.Symbols.Has("suite", name) {
		return
	}
	l.plan.Suite = ""
	hint := l.DidYouMean(name, l.Symbols.Of("suite").Order)
	if hint == "" {
		hint = " It declares none; add: ‹suite \"" + name + "\" { workloads = [workload.name] }›, or leave --suite out."
	}
	l.Fail(l.Start(), "invalid-variable-value", "Unknown suite in --suite", "The plan declares no suite %q.%s", name,
		hint)
}
