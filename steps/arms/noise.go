package arms

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/plans"
)

// noiseVariable is set to another value in each arm of Noise but the baseline, and read by
// no engine.
const noiseVariable = "MXFLOW_NOISE"

// NoiseArms are the arms of Noise, the baseline included.
const NoiseArms = 3

// Noise asks how much launches differ of arms that do not: the plan's baseline, and copies
// of it that find empty caches, as none before them had their name. Each copy is a feature
// that no gate reads; earlier is how often they were measured already.
func Noise(p *plans.Plan, launches int, earlier func(feature string) int) (question string, features []string, err error) {
	if p.Baseline == nil {
		return "", nil, errors.New("the plan has no baseline, so there is nothing to start: add baseline { engine = …, protocol = … }")
	}
	level := p.Protocol(p.Baseline.Protocol).Level(plans.BenchmarkLevel)
	if level == nil {
		return "", nil, fmt.Errorf("protocol.%s has no benchmark, so the baseline is never measured: add level \"benchmark\" { workloads = [workload.…] } to it",
			p.Baseline.Protocol)
	}
	unused := func(name string, used func(string) bool) string {
		for used(name) {
			name += "_"
		}
		return name
	}
	w := &Writer{}
	protocol := unused("noise", func(name string) bool { return p.Protocol(name) != nil })
	counted := ""
	w.Line("protocol %q {", protocol)
	if e := p.UnderTest(); e.IsCommand() {
		counted = e.CommandMetrics()[0].Address()
	} else {
		counted = p.Workload(p.SentWorkloads(level)[0]).Cells()[0].Address + ".e2e"
		w.Line("level \"correctness\" {\nanswers = \"unchecked\"\n}") // both are the same engine
	}
	w.Line("level \"benchmark\" {")
	if sent := p.SentWorkloads(level); len(sent) > 0 {
		w.Line("workloads = [workload.%s]", strings.Join(sent, ", workload."))
	}
	w.Number("launches", launches)
	w.Line("}\n}\n\nphase %q {", unused("noise", func(name string) bool { return p.Phase(name) != nil }))
	all := []Arm{{Name: "a"}}
	for i := 1; i < NoiseArms; i++ {
		name := string(rune('a' + i))
		features = append(features, unused("noise_"+name, func(name string) bool { return p.Feature(name) != nil }))
		all = append(all, Arm{Name: name})
	}
	copies := 1 + earlier(features[len(features)-1])
	for i, feature := range features {
		all[i+1].Env = map[string]string{noiseVariable: all[i+1].Name + strconv.Itoa(copies)}
		w.Line("feature %q {\nset = { %s = %q }\nprotocol = protocol.%s\naccept = []", feature, Knob, all[i+1].Name, protocol)
		w.Line("criterion \"launches\" {\nrule = \"%s.n >= %d\"\n}\n}", counted, launches)
	}
	w.Line("}")
	q := &Question{Plan: p, Arms: all, Phases: string(w.Format())}
	question, err = q.HCL()
	return question, features, err
}
