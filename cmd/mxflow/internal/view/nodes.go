package view

import (
	"strings"

	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Argued is the node to explain. An alternative, "spec[short]", was decided with the
// others: it leads to the feature that chooses, of which it is explained alone.
func Argued(st *store.Store, name string) (node, alternative string, err error) {
	short := strings.TrimPrefix(name, "feature.")
	for _, d := range st.Decisions() {
		for _, alt := range d.Alternatives {
			if alt.Name == short && d.Node == runtime.FeatureID(d.Feature) {
				return d.Node, alt.Name, nil
			}
		}
	}
	node, err = report.Node(st, name)
	return node, "", err
}

// nodeName is a node as people call it: "kv_cache", "phase cache", "git_tag vllm".
func nodeName(node string) string {
	phase, is := strings.CutPrefix(node, "phase.")
	if _, step, inside := strings.Cut(phase, ".step."); inside {
		return strings.Replace(step, ".", " ", 1)
	} else if is {
		return "phase " + phase
	}
	return strings.TrimPrefix(node, "feature.")
}

// measures reports whether a node only measures what another one decides.
func measures(node string) bool {
	name := runtime.CandidateOf(node)
	return node == runtime.QualifyID(name) || node == runtime.BenchmarkID(name)
}
