package load

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

var suiteDoc = &lang.BlockDoc{
	Type: "suite", Times: plans.AnyTimes,
	Labels: []lang.Label{{Name: "name", Doc: "Its name in `--suite <name>` and references: `suite.<name>`."}},
	Doc:    "A tier of workloads, such as quick, standard and full. `--suite <name>` makes benchmarks send it instead of what they name; a benchmark can also name one itself. Rules can read the workloads of every suite: one that was not sent makes them inconclusive.",
	Attrs: []plans.Attr{
		{Name: "summary", Type: plans.String, Doc: "What it is for, in one sentence."},
		{Name: "workloads", Type: plans.Refs, Ref: "workload", Required: true, Doc: "What is sent, in this order."},
	},
	Example: `suite "quick" {
  summary   = "Enough to see whether it is worth more"
  workloads = [workload.chat]
}`,
}

func (l *loader) decodeSuite(b *hcl.Block) {
	before := len(l.Diags)
	defer func() { l.protocolsInDoubt = l.protocolsInDoubt || len(l.Diags) > before }()
	f := l.Fields(b, suiteDoc)
	s := &plans.Suite{Name: b.Labels[0], Summary: f.Text("summary"), Range: lang.RangeOf(b.DefRange)}
	f.Required("workloads", "what is sent, such as [workload.chat].")
	for _, r := range f.Refs("workloads", "workload") {
		s.Workloads = append(s.Workloads, r.Key)
	}
	if _, ok := f.Value("workloads"); ok && len(s.Workloads) == 0 && len(l.Diags) == before {
		l.Fail(f.At("workloads"), "empty-value", "Empty workloads", "A suite that sends nothing measures nothing. Name at least one workload, as in [workload.chat].")
	}
	if l.First(b) {
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
	if l.Symbols.Has("suite", name) {
		return
	}
	l.plan.Suite = ""
	hint := l.DidYouMean(name, l.Symbols.Of("suite").Order)
	if hint == "" {
		hint = " It declares none; add: suite \"" + name + "\" { workloads = [workload.name] }, on lines of its own, or leave --suite out."
	}
	l.Fail(l.Start(), "invalid-variable-value", "Unknown suite in --suite", "The plan declares no suite %q.%s", name, hint)
}
