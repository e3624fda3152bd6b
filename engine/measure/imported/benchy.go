package imported

import (
	"fmt"
	"math"
)

// llama-benchy's report, as its own schema describes it (version 0.2 and later):
// one object with the list benchmarks; times in ms. Its std is numpy's, with
// divisor n.

var benchyMetrics = []named{
	{"pp_throughput", definition{"tok/s", higher, "Prompt tokens over time to first response less the tool's measured latency, over all concurrent requests. Time to first response is the first chunk, even an empty one."}},
	{"pp_req_throughput", definition{"tok/s", higher, "Like pp_throughput, per request."}},
	{"tg_throughput", definition{"tok/s", higher, "Generated tokens after the first over the time from it to the last, over all concurrent requests."}},
	{"tg_req_throughput", definition{"tok/s", higher, "Like tg_throughput, per request."}},
	{"peak_throughput", definition{"tok/s", higher, "Maximum tokens within one second, over all concurrent requests."}},
	{"peak_req_throughput", definition{"tok/s", higher, "Like peak_throughput, per request."}},
	{"ttfr", definition{"ms", lower, "Time to first response: the first chunk, even an empty one."}},
	{"est_ppt", definition{"ms", lower, "Estimated prompt processing time: time to first response less the measured latency."}},
	{"e2e_ttft", definition{"ms", lower, "Time from the send to the first chunk with content."}},
}

func isBenchy(n node) bool { return n.has("benchmarks") && n.has("latency_mode") }

func readBenchy(f *File, all []node) {
	if len(all) > 1 {
		all[1].wrong("the file has more than one document, which llama-benchy never writes")
		return
	}
	n := all[0]
	f.Version, f.Model, f.Date = n.member("version").text(), n.member("model").text(), n.member("timestamp").text()
	mode := n.member("latency_mode").text()
	latency, _ := n.member("latency_ms").amount()
	f.note("pp_throughput and est_ppt are corrected by a latency of %.3g ms (mode %q); they only compare with mxflow's pp_corrected of the same mode", latency, mode)
	f.note("std is the population standard deviation (divisor n), over requests to one server")
	caching := n.member("prefix_caching_enabled").text() == "true"
	for _, b := range n.member("benchmarks").list() {
		c := benchyCell(b)
		if c.What["context_size"] != "0" && !caching {
			f.note("pp of %s also counts the context's tokens, because prefix caching was off; llama-bench prefills the context separately", c.Name)
		}
		f.emptyFirst(c)
		f.Cells = append(f.Cells, c)
	}
}

func benchyCell(b node) Cell {
	counts, c := map[string]int{}, Cell{What: map[string]string{}}
	for _, name := range []string{"concurrency", "context_size", "prompt_size", "response_size"} {
		counts[name] = b.member(name).whole()
		c.What[name] = fmt.Sprint(counts[name])
	}
	c.Name = fmt.Sprintf("pp%d_tg%d", counts["prompt_size"], counts["response_size"])
	if d := counts["context_size"]; d > 0 {
		c.Name += fmt.Sprintf("_d%d", d)
	}
	c.Name += fmt.Sprintf("_c%d", counts["concurrency"])
	if b.member("is_context_prefill_phase").text() == "true" {
		c.What["phase"] = "context prefill"
		c.Name += "_context"
	}
	for _, d := range benchyMetrics {
		m := b.member(d.name)
		if m.value == nil {
			continue
		}
		mean, std, values := m.member("mean").needed(), m.member("std").needed(), m.member("values").numbers()
		if !agrees(mean, values, 1e-6) {
			m.wrong("its mean of %v does not match its %d values: the file was edited or is damaged", mean, len(values))
		}
		c.Metrics = append(c.Metrics, d.metric(d.name, map[string]float64{"mean": mean, "std": std}).withValues(values))
	}
	return c
}

// agrees reports whether a mean is that of the values behind it, within a share of it, if
// there are any.
func agrees(mean float64, values []float64, share float64) bool {
	if len(values) == 0 {
		return true
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return math.Abs(sum/float64(len(values))-mean) <= share*mean
}

// emptyFirst notes a first chunk long before the first text: then pp is meaningless.
func (f *File) emptyFirst(c Cell) {
	stat := map[string]float64{}
	for _, m := range c.Metrics {
		stat[m.Name] = m.Stats["mean"]
	}
	if r, t := stat["ttfr"], stat["e2e_ttft"]; r > 0 && t > 2*r {
		f.note("%s: the first response came after %.4g ms and the first text after %.4g ms, so pp_throughput and est_ppt are based on an empty chunk and do not measure prefill", c.Name, r, t)
	}
}
