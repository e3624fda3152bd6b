package imported

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// inference-perf (kubernetes-sigs) writes a report of lifecycle metrics for each stage
// of its load and one of all of them: one object, in which each distribution has mean,
// median, min, max and numpy's percentiles. Times are in seconds.

var inferencePerfNumbers = []struct {
	path string
	named
}{
	{"benchmark_time_seconds", named{"benchmark_time_seconds", definition{"s", neither, "From the first send to the last end, failed requests included."}}},
	{"load_summary.count", named{"requests", definition{"requests", neither, "Sent requests."}}},
	{"load_summary.send_duration", named{"send_duration", definition{"s", neither, "From the first send to the last."}}},
	{"load_summary.achieved_rate", named{"achieved_rate", definition{"req/s", neither, "Requests sent over send_duration."}}},
	{"successes.count", named{"successes", definition{"requests", neither, "Answered requests."}}},
	{"failures.count", named{"failures", definition{"requests", lower, "Failed requests."}}},
	{"successes.latency.request_latency", named{"request_latency", definition{"s", lower, "Time from the send to the end of each answered request."}}},
	{"successes.latency.normalized_time_per_output_token", named{"normalized_time_per_output_token", definition{"s", lower, "request_latency / output tokens of each request, including the time to the first token."}}},
	{"successes.latency.time_per_output_token", named{"time_per_output_token", definition{"s", lower, "(last chunk − first chunk) / (output tokens − 1) of each streamed request."}}},
	{"successes.latency.time_to_first_token", named{"time_to_first_token", definition{"s", lower, "Time from the send to the first chunk with text of each streamed request."}}},
	{"successes.latency.inter_token_latency", named{"inter_token_latency", definition{"s", lower, "Gap between tokens, which the tool recounts in each chunk: tokens of one chunk are 0 apart."}}},
	{"successes.throughput.input_tokens_per_sec", named{"input_tokens_per_sec", definition{"tok/s", higher, "Prompt tokens of answered requests, over the benchmark's time."}}},
	{"successes.throughput.output_tokens_per_sec", named{"output_tokens_per_sec", definition{"tok/s", higher, "Output tokens of answered requests, over the benchmark's time, including prefill and ramps. Counted by the tool's tokenizer, unless configured to use the server's count."}}},
	{"successes.throughput.total_tokens_per_sec", named{"total_tokens_per_sec", definition{"tok/s", higher, "Prompt and output tokens of answered requests, over the benchmark's time."}}},
	{"successes.throughput.requests_per_sec", named{"requests_per_sec", definition{"req/s", higher, "Answered requests, over the benchmark's time."}}},
	{"successes.prompt_len", named{"prompt_len", definition{"tokens", neither, "Prompt tokens of each answered request, counted by the tool's tokenizer."}}},
	{"successes.prompt_tokens", named{"prompt_tokens", definition{"tokens", neither, "Prompt tokens of each answered request, by the server's count if available; total, cached and uncached are sums."}}},
	{"successes.output_len", named{"output_len", definition{"tokens", neither, "Output tokens of each answered request, counted by the tool's tokenizer."}}},
	{"successes.output_tokens", named{"output_tokens", definition{"tokens", neither, "Output tokens of each answered request, by the server's count if available; total is a sum."}}},
	{"successes.goodput_metrics.request_goodput", named{"request_goodput", definition{"req/s", higher, "Answered requests within the limits, over the benchmark's time."}}},
	{"successes.goodput_metrics.token_goodput", named{"token_goodput", definition{"tok/s", higher, "Prompt and output tokens of requests within the limits, over the benchmark's time."}}},
	{"successes.goodput_metrics.goodput_percentage", named{"goodput_percentage", definition{"%", higher, "Share of answered requests within the limits."}}},
}

func isInferencePerf(n node) bool {
	return n.has("load_summary", "successes", "failures") && n.member("successes").has("count", "latency", "throughput")
}

func readInferencePerf(f *File, all []node) {
	f.note("times are in seconds; percentiles are interpolated linearly, over requests of one server")
	for _, n := range all {
		if !isInferencePerf(n) {
			n.wrong("it is not an inference-perf lifecycle report like the first in the file")
			return
		}
		load := n.member("load_summary")
		c := Cell{Name: "all", What: what(load, "requested_rate", "concurrency")}
		if rate := c.What["requested_rate"]; rate != "" {
			c.Name = "r" + strings.TrimSuffix(rate, ".0")
		}
		if streams := c.What["concurrency"]; streams != "" {
			c.Name += "_c" + streams
		}
		c.Name = word(c.Name)
		answered, failed := n.member("successes").member("count").whole(), n.member("failures").member("count").whole()
		if sent, ok := load.member("count").amount(); ok && sent != float64(answered+failed) {
			load.member("count").wrong("it is %v, but successes and failures add up to %d: the file was edited or is damaged", sent, answered+failed)
		}
		read := map[string]bool{"load_summary.requested_rate": true, "load_summary.concurrency": true, "failures.by_label": true}
		for _, d := range inferencePerfNumbers {
			read[d.path] = true
			stats := distribution(n.at(d.path), "")
			// If nothing was answered the tool writes zeros for speeds.
			if len(stats) > 0 && (answered > 0 || !strings.HasPrefix(d.path, "successes.") || d.name == "successes") {
				c.Metrics = append(c.Metrics, d.metric(d.name, stats))
			}
		}
		f.Cells = append(f.Cells, c)
		if failed > 0 || answered == 0 {
			f.note("%s: %d of %d requests were answered; the numbers only cover these", c.Name, answered, answered+failed)
		}
		f.leftOut(c, others(n, "", read))
	}
}

// GuideLLM writes benchmarks.json: a list of benchmarks, one for each strategy that it
// put load on with. Each metric has a distribution for requests of each outcome; those
// of successful ones are read. Rates and concurrency are distributions over time.

var guideLLMMetrics = []named{
	{"requests_per_second", definition{"req/s", higher, "Rate of finished requests, over time; its mean is that of the measured period."}},
	{"request_concurrency", definition{"requests", neither, "Requests in flight, over time."}},
	{"request_latency", definition{"s", lower, "Time from the send to the end of each request."}},
	{"request_streaming_iterations_count", definition{"count", neither, "Chunks of each answer."}},
	{"prompt_token_count", definition{"tokens", neither, "Prompt tokens of each request."}},
	{"output_token_count", definition{"tokens", neither, "Output tokens of each request, by the server's count; without one, chunks."}},
	{"total_token_count", definition{"tokens", neither, "Prompt and output tokens of each request."}},
	{"time_to_first_token_ms", definition{"ms", lower, "Time from the send to the first chunk with a token."}},
	{"time_to_first_output_token_ms", definition{"ms", lower, "Time from the send to the first chunk that is not reasoning."}},
	{"time_per_output_token_ms", definition{"ms", lower, "(last token − send) / output tokens of each request, including the time to the first token."}},
	{"inter_token_latency_ms", definition{"ms", lower, "(last token − first token) / (output tokens − 1): one average per request."}},
	{"prompt_tokens_per_second", definition{"tok/s", higher, "Prompt tokens of all requests together, over time."}},
	{"output_tokens_per_second", definition{"tok/s", higher, "Output tokens of all requests together, over time, including prefill and ramps."}},
	{"tokens_per_second", definition{"tok/s", higher, "Prompt and output tokens of all requests together, over time."}},
	{"output_tokens_per_iteration", definition{"tokens", neither, "Output tokens per chunk of an answer."}},
	{"iter_tokens_per_iteration", definition{"tokens", neither, "Like output_tokens_per_iteration, without the first token and chunk."}},
}

func isGuideLLM(n node) bool {
	list, _ := n.member("benchmarks").value.([]any)
	return len(list) > 0 && n.member("benchmarks").list()[0].member("metrics").member("requests_per_second").has("successful")
}

func readGuideLLM(f *File, all []node) {
	if len(all) > 1 {
		all[1].wrong("the file has more than one document, which GuideLLM never writes")
		return
	}
	n := all[0]
	f.note("numbers cover successful requests to one server; std is the population standard deviation (divisor n)")
	for _, b := range n.member("benchmarks").list() {
		config := b.member("config")
		if config.value == nil {
			config = b.member("args") // before version 0.4
		}
		f.of(firstOf(config.member("backend").member("model"), n.member("args").member("model")), n.member("metadata").member("guidellm_version").text(), "")
		c := Cell{What: what(config.member("strategy"), "type_", "streams", "rate", "max_concurrency")}
		c.Name = guideLLMName(c.What)
		metrics := b.member("metrics")
		object, _ := metrics.value.(map[string]any)
		var left []string
		for _, name := range slices.Sorted(maps.Keys(object)) {
			at := slices.IndexFunc(guideLLMMetrics, func(d named) bool { return d.name == name })
			if at < 0 && name != "request_totals" && object[name] != nil {
				left = append(left, "metrics."+name)
			}
		}
		for _, d := range guideLLMMetrics {
			m := metrics.member(d.name).member("successful")
			n, counted := m.member("count").amount()
			if stats := distribution(m, "percentiles"); len(stats) > 0 && n > 0 && counted {
				metric := d.metric(d.name, stats)
				metric.N = int(n)
				c.Metrics = append(c.Metrics, metric)
			}
		}
		totals := metrics.member("request_totals")
		for _, d := range []named{
			{"successful", definition{"requests", neither, "Answered requests."}},
			{"errored", definition{"requests", lower, "Failed requests."}},
			{"incomplete", definition{"requests", neither, "Requests cut off when the benchmark ended."}},
		} {
			if x, ok := totals.member(d.name).amount(); ok {
				c.Metrics = append(c.Metrics, d.metric("requests_"+d.name, map[string]float64{"value": x}))
			}
		}
		if x, ok := b.member("duration").amount(); ok {
			c.Metrics = append(c.Metrics, definition{"s", neither, "From the start of the benchmark to its end."}.metric("duration", map[string]float64{"value": x}))
		}
		f.Cells = append(f.Cells, c)
		good, _ := totals.member("successful").amount()
		if total, ok := totals.member("total").amount(); ok && total > good {
			f.note("%s: %g of %g requests were answered; the numbers only cover these", c.Name, good, total)
		}
		f.leftOut(c, left)
	}
}

// guideLLMName names a cell by its load strategy: "concurrent_c16", "constant_r4".
func guideLLMName(what map[string]string) string {
	name := what["type_"]
	if rate := what["rate"]; rate != "" {
		name += "_r" + strings.TrimSuffix(rate, ".0")
	}
	if streams := what["streams"]; streams != "" {
		name += "_c" + streams
	}
	return word(strings.TrimPrefix(name, "_"))
}

// statNames are statistics with other names than mxflow's: GuideLLM writes p001 for the
// 0.1th percentile.
var statNames = map[string]string{"std_dev": "std", "p001": "p0_1", "p01": "p1", "p05": "p5", "p999": "p99_9"}

// notStats are members of a distribution that are not statistics, or follow from others.
var notStats = []string{"count", "mode", "variance", "total_sum", "pdf", "cumulative_distribution_function"}

// distribution are the statistics in an object, and in another one in it; for a number
// only the number.
func distribution(n node, inner string) map[string]float64 {
	stats := map[string]float64{}
	object, is := n.value.(map[string]any)
	if !is {
		if x, ok := n.amount(); ok {
			stats["value"] = x
		}
		return stats
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch m := n.member(name); {
		case name == inner:
			maps.Copy(stats, distribution(m, ""))
		case slices.Contains(notStats, name):
		default:
			if x, ok := m.number(); ok {
				stats[statWord(name)] = x
			}
		}
	}
	return stats
}

// statWord is mxflow's name of a statistic.
func statWord(name string) string {
	if own, ok := statNames[name]; ok {
		return own
	}
	return strings.ReplaceAll(name, ".", "_")
}

// at follows a path of members.
func (n node) at(path string) node {
	for _, name := range strings.Split(path, ".") {
		n = n.member(name)
	}
	return n
}

// others are the paths of distributions and numbers that are not read, except zeros,
// which tools write for missing values, and elements of lists.
func others(n node, at string, read map[string]bool) (paths []string) {
	object, _ := n.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		m, path := n.member(name), strings.TrimPrefix(at+"."+name, ".")
		number, is := m.value.(json.Number)
		switch {
		case read[path]:
		case m.has("mean") || is && strings.Trim(string(number), "0.") != "":
			paths = append(paths, path)
		default:
			paths = append(paths, others(m, path, read)...)
		}
	}
	return paths
}

// leftOut notes what was not read of a cell.
func (f *File) leftOut(c Cell, names []string) {
	if len(names) > 0 {
		f.note("%s: not read: %s", c.Name, Printable(strings.Join(names[:min(len(names), mostUnread)], ", ")+more(len(names)-mostUnread)))
	}
}

func firstOf(all ...node) string {
	for _, n := range all {
		if text := n.text(); text != "" {
			return text
		}
	}
	return ""
}
