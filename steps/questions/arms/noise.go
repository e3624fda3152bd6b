package arms

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/plans"
)

// Noise asks how much launches differ of arms that do not: the plan's baseline, and two
// copies of it that find empty caches, each a feature that stays out of the stack. They set
// a variable that no engine reads, to another value each time: measured is how often a copy
// was measured before.
func Noise(p *plans.Plan, launches int, measured func(feature string) int) (question string,
	copies []string, err error,
) {
	if err := HasBaseline(p); err != nil {
		return "", nil, err
	}
	level := p.Protocol(p.Baseline.Protocol).Level(plans.BenchmarkLevel)
	if level == nil {
		return "", nil,
			fmt.Errorf("%s: protocol.%s has no benchmark, so the baseline is never measured: add a level benchmark "+
				"with workloads to it", p.File, p.Baseline.Protocol)
	}
	name := "noise"
	for p.Protocol(name) != nil || p.Phase(name) != nil || p.Feature(name+"_b") != nil || p.Feature(name+"_c") != nil {
		name += "_"
	}
	w, counted := &Writer{}, ""
	w.Line("protocol %q {", name)
	if e := p.UnderTest(); e.IsCommand() {
		counted = e.CommandMetrics()[0].Address()
		w.Line("level \"benchmark\" {")
	} else {
		sent := p.SentWorkloads(level)
		first := p.Workload(sent[0])
		counted = first.Cells()[0].Address + ".e2e"
		if first.Capacity != nil {
			counted = first.Cells()[0].Address + ".capacity"
		}
		// What is measured finds its caches filled, by a launch that qualifies it. Answers
		// need no proof: they are the same engine's.
		w.Line("level \"smoke\" {\npattern = \".\"\napi = %q\n}\nlevel \"correctness\" {\nanswers = \"unchecked\"\n}",
			first.API)
		w.Line("level \"benchmark\" {\nworkloads = [workload.%s]", strings.Join(sent, ", workload."))
	}
	w.Line("launches = %d\n}\n}\n\nphase %q {", launches, name)
	q := &Question{Plan: p, Arms: []Arm{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	copies = []string{name + "_b", name + "_c"}
	times := measured(copies[1]) // the last that is decided
	for i, feature := range copies {
		arm := &q.Arms[i+1]
		arm.Env = map[string]string{"MXFLOW_NOISE": fmt.Sprint(arm.Name, times+1)}
		w.Line("feature %q {\nset = { %s = %q }\nprotocol = protocol.%s\naccept = []", feature, Knob, arm.Name, name)
		w.Line("criterion \"launches\" {\nrule = \"%s.n >= %d\"\n}\n}", counted, launches)
	}
	w.Line("}")
	q.Phases = string(w.Format())
	question, err = q.HCL()
	return question, copies, err
}
