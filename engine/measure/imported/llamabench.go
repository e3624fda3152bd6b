package imported

import (
	"fmt"
	"slices"
)

// llama-bench writes one entry a test: n_gen = 0 is prefill, n_prompt = 0 is
// decode, n_depth the context before it, which is prefilled apart and not timed.
// There is no server, no network and no sampling in it. std has divisor n − 1.

const (
	llamaPP = "Prompt tokens over the time to process them, excluding the context before them; without server, sampling or network."
	llamaTG = "Generated tokens over the time to generate them from an empty context, or after the context of @ d; tokens are random, not sampled."
	llamaPG = "Prompt and generated tokens over the total time of both."
)

func isLlamaBench(n node) bool {
	list, _ := n.value.([]any)
	return len(list) > 0 && n.list()[0].has("build_commit", "n_prompt", "n_gen")
}

func readLlamaBench(f *File, all []node) {
	if len(all) > 1 {
		all[1].wrong("the file has another document after the list")
		return
	}
	for _, n := range all[0].list() {
		f.llamaTest(n)
	}
}

// llamaResults are the members of a test that are not its parameters.
var llamaResults = []string{"avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"}

// llamaTest adds one test.
func (f *File) llamaTest(n node) {
	f.note("std is the sample standard deviation (divisor n − 1), over repetitions within one process")
	object, ok := n.value.(map[string]any)
	if !ok {
		n.wrong("it is %s, not a llama-bench test", kind(n.value))
	}
	prompt, gen, depth := n.member("n_prompt").whole(), n.member("n_gen").whole(), 0
	if n.has("n_depth") { // older files have none
		depth = n.member("n_depth").whole()
	}
	if prompt == 0 && gen == 0 {
		n.wrong("n_prompt and n_gen are both 0, so nothing was measured")
	}
	mean, std, values := n.member("avg_ts").needed(), n.member("stddev_ts").needed(), n.member("samples_ts").numbers()
	// The tool writes samples with fewer digits than their mean.
	if !agrees(mean, values, 0.001) {
		n.wrong("avg_ts is %v, which is not the mean of its samples_ts: the file was edited or is damaged", mean)
	}
	c := Cell{Name: fmt.Sprintf("pp%d", prompt), What: map[string]string{}}
	means := llamaPP
	switch {
	case gen > 0 && prompt > 0:
		c.Name, means = fmt.Sprintf("pp%d_tg%d", prompt, gen), llamaPG
	case gen > 0:
		c.Name, means = fmt.Sprintf("tg%d", gen), llamaTG
	}
	if depth > 0 {
		c.Name += fmt.Sprintf("_d%d", depth)
	}
	for name := range object {
		if text := n.member(name).text(); text != "" && !slices.Contains(llamaResults, name) {
			c.What[name] = text
		}
	}
	m := definition{"tok/s", higher, means}.metric("ts", map[string]float64{"mean": mean, "std": std})
	if len(values) > 0 {
		m = m.withValues(values)
	}
	c.Metrics = []Metric{m}
	f.of(c.What["model_type"], c.What["build_commit"], c.What["test_time"])
	f.Cells = append(f.Cells, c)
}
