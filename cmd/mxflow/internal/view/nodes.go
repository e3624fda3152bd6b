package view

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Node is the address of the node that a person names: the address itself, a phase for
// its gate, or the name of a phase, a feature or a step. Only decided or locked nodes match.
func Node(st *store.Store, name string) (string, error) {
	nodes := Addresses(st)
	if slices.Contains(nodes, name) {
		return name, nil
	}
	var found []string
	short := strings.TrimSuffix(name, ".gate")
	for _, address := range []string{short, runtime.PhaseID(short), runtime.FeatureID(short)} {
		if slices.Contains(nodes, address) && !slices.Contains(found, address) {
			found = append(found, address)
		}
	}
	for _, address := range nodes { // a step by its name, or as "compare frameworks"
		_, step, is := strings.Cut(address, ".step.")
		if _, own, _ := strings.Cut(step, "."); is && (own == name || step == strings.Replace(name, " ", ".", 1)) {
			found = append(found, address)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if ext := filepath.Ext(name); ext == ".hcl" || lang.IsYAML(name) {
			return "", fmt.Errorf("%s is a plan: give a node first, then the plan%s", name, near(name, nodes))
		}
		if len(nodes) == 0 {
			return "", fmt.Errorf("nothing was decided here, so there is nothing to explain: %w", store.ErrApplyFirst)
		}
		return "", fmt.Errorf("no node named %q was decided or locked here%s", name, near(name, nodes))
	}
	return "", fmt.Errorf("%q is both %s: name one of them", name, strings.Join(found, " and "))
}

// Addresses are those of all nodes that were decided, or locked by
// the newest run, sorted.
func Addresses(st *store.Store) (nodes []string) {
	for _, r := range report.RowsOf(st, time.Now()) {
		if r.Decided != nil || !r.Locked.IsZero() {
			nodes = append(nodes, r.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// near is the suggestion for an unknown name, which may be meant as a full address or as
// its short form: the phase of a gate, the feature's name.
func near(name string, nodes []string) string {
	byName := map[string]string{}
	for _, n := range nodes {
		byName[n], byName[strings.TrimPrefix(strings.TrimPrefix(n, "phase."), "feature.")] = n, n
	}
	if n, ok := byName[lang.Nearest(name, slices.Sorted(maps.Keys(byName)))]; ok {
		name = n
	}
	return "." + lang.Suggest(name, nodes)
}

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
	node, err = Node(st, name)
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
