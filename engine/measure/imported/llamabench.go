package imported

import (
	"fmt"
)

// llama-bench writes one entry a test: n_gen = 0 is prefill, n_prompt = 0 is
// decode, n_depth the context before it, which is prefilled apart and not timed.
// There is no server, no network and no sampling in it. std has divisor n − 1.

const (
	llamaPP = "Prompt tokens over the time to process them, the context before them not counted; without a server, sampling or network."
	llamaTG = "Generated tokens over the time to generate them from nothing, or after the context of @ d; tokens are random, none is sampled."
	llamaPG = "Prompt and generated tokens over the time of both together."
)

// llamaTest is one test, whatever format it was written in.
type llamaTest struct {
	prompt, gen, depth int
	what               map[string]string
	// mean and std of tokens a second, with the values behind them.
	mean, std float64
	values    []float64
}

func (t llamaTest) cell() Cell {
	name, means := "", llamaPP
	if t.prompt > 0 {
		name = fmt.Sprintf("pp%d", t.prompt)
	}
	switch {
	case t.gen > 0 && t.prompt > 0:
		name, means = fmt.Sprintf("pp%d_tg%d", t.prompt, t.gen), llamaPG
	case t.gen > 0:
		name, means = fmt.Sprintf("tg%d", t.gen), llamaTG
	}
	if t.depth > 0 {
		name += fmt.Sprintf("_d%d", t.depth)
	}
	m := definition{"tok/s", higher, means}.metric("ts", map[string]float64{"mean": t.mean, "std": t.std})
	if len(t.values) > 0 {
		m = m.withValues(t.values)
	}
	return Cell{Name: name, What: t.what, Metrics: []Metric{m}}
}

func (f *File) llamaNotes() {
	f.note("std is of the sample (divisor n − 1), over repetitions within one process")
}

func isLlamaBench(n node) bool {
	first := n
	if list, err := n.list(); err == nil && len(list) > 0 {
		first = list[0]
	}
	return first.has("build_commit", "n_prompt", "n_gen")
}

func readLlamaBench(f *File, all []node) error {
	f.llamaNotes()
	if _, isList := all[0].value.([]any); isList {
		if len(all) > 1 {
			return all[1].wrong("a second document follows the list")
		}
		var err error
		if all, err = all[0].list(); err != nil {
			return err
		}
	}
	for _, n := range all {
		t, err := llamaEntry(n)
		if err != nil {
			return err
		}
		f.llamaHead(t)
		f.Cells = append(f.Cells, t.cell())
	}
	return nil
}

// llamaHead takes what the whole file has from its tests.
func (f *File) llamaHead(t llamaTest) {
	model := t.what["model_type"]
	switch {
	case f.Model == "":
		f.Model, f.Version, f.Date = model, t.what["build_commit"], t.what["test_time"]
	case f.Model != model:
		f.note("results of several models are in the file")
	}
}

func llamaEntry(n node) (t llamaTest, err error) {
	object, ok := n.value.(map[string]any)
	if !ok {
		return t, n.wrong("it is %s, and should be a test of llama-bench", kind(n.value))
	}
	for _, c := range []struct {
		name string
		into *int
		may  bool
	}{{"n_prompt", &t.prompt, false}, {"n_gen", &t.gen, false}, {"n_depth", &t.depth, true}} {
		if c.may && !n.has(c.name) {
			continue // before depths were known
		}
		if *c.into, err = n.member(c.name).whole(); err != nil {
			return t, err
		}
	}
	if t.prompt == 0 && t.gen == 0 {
		return t, n.wrong("n_prompt and n_gen are both 0, so that nothing was measured")
	}
	for _, c := range []struct {
		name string
		into *float64
	}{{"avg_ts", &t.mean}, {"stddev_ts", &t.std}} {
		x, ok, err := n.member(c.name).amount()
		if err != nil {
			return t, err
		}
		if !ok {
			return t, n.member(c.name).wrong("it is missing")
		}
		*c.into = x
	}
	if t.values, err = n.member("samples_ts").numbers(); err != nil {
		return t, err
	}
	// The tool writes samples with fewer digits than their mean.
	if len(t.values) > 0 && !agreesWithin(t.mean, t.values, 0.001) {
		return t, n.wrong("avg_ts is %v, and not the mean of its samples_ts: the file was changed, or is damaged", t.mean)
	}
	t.what = map[string]string{}
	for name := range object {
		switch name {
		case "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts":
			continue
		}
		if text := n.member(name).text(); text != "" {
			t.what[name] = text
		}
	}
	return t, nil
}
