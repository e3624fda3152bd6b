package imported

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

const (
	higher  = measure.Higher
	lower   = measure.Lower
	neither = measure.Neither
)

// tool is a benchmark tool whose results can be read.
type tool struct {
	// name is the tool's, file how it writes the file.
	name, file string
	// knows reports whether it wrote a document, which read adds to the file.
	knows func(n node) bool
	read  func(f *File, n node)
}

// tools are tried in this order.
var tools = []tool{
	{"llama-benchy", "--save-result, JSON", func(n node) bool { return n.has("benchmarks", "latency_mode") }, readBenchy},
	{"llama-bench", "-o json", func(n node) bool {
		list, _ := n.value.([]any)
		return len(list) > 0 && n.list()[0].has("build_commit", "n_prompt", "n_gen")
	}, readLlamaBench},
	{"AIPerf", "profile_export_aiperf.json", func(n node) bool { return n.has("schema_version") }, readAIPerf},
	{"SGLang bench_serving", "--output-file, JSON lines", func(n node) bool {
		return n.has("completed", "duration", "dataset_name") && !n.has("num_prompts")
	}, func(f *File, n node) { f.serving(n, sglangFields) }},
	{"vLLM bench serve", "--save-result, --save-detailed, --append-result", func(n node) bool {
		return n.has("completed", "duration", "num_prompts")
	}, func(f *File, n node) { f.serving(n, vllmFields) }},
}

// field is one of a tool's numbers, and what the tool means by its name.
type field struct {
	name, unit string
	better     measure.Better
	means      string
}

func (d field) metric(stats map[string]float64, values ...float64) Metric {
	return Metric{Name: d.name, Unit: d.unit, Better: d.better, Definition: d.means, Stats: stats, N: len(values), Values: values}
}

// llama-benchy's report, as its own schema describes it (version 0.2 and later):
// one object with the list benchmarks; times in ms. Its std is numpy's, with
// divisor n.

var benchyFields = []field{
	{"pp_throughput", "tok/s", higher, "Prompt tokens over time to first response less the tool's measured latency, over all concurrent requests. Time to first response is the first chunk, even an empty one."},
	{"pp_req_throughput", "tok/s", higher, "Like pp_throughput, per request."},
	{"tg_throughput", "tok/s", higher, "Generated tokens after the first over the time from it to the last, over all concurrent requests."},
	{"tg_req_throughput", "tok/s", higher, "Like tg_throughput, per request."},
	{"peak_throughput", "tok/s", higher, "Maximum tokens within one second, over all concurrent requests."},
	{"peak_req_throughput", "tok/s", higher, "Like peak_throughput, per request."},
	{"ttfr", "ms", lower, "Time to first response: the first chunk, even an empty one."},
	{"est_ppt", "ms", lower, "Estimated prompt processing time: time to first response less the measured latency."},
	{"e2e_ttft", "ms", lower, "Time from the send to the first chunk with content."},
}

func readBenchy(f *File, n node) {
	f.Version, f.Model, f.Date = n.member("version").text(), n.member("model").text(), n.member("timestamp").text()
	latency, _ := n.member("latency_ms").amount()
	f.note("pp_throughput and est_ppt are corrected by a latency of %.3g ms (mode %q), so they do not compare with mxflow's pp and ttft",
		latency, n.member("latency_mode").text())
	f.note("std is the population standard deviation (divisor n), over requests to one server")
	for _, b := range n.member("benchmarks").list() {
		c := Cell{What: b.texts("concurrency", "context_size", "prompt_size", "response_size")}
		c.Name = fmt.Sprintf("pp%v_tg%v", b.member("prompt_size").needed(), b.member("response_size").needed())
		if d := b.member("context_size").needed(); d > 0 {
			c.Name += fmt.Sprintf("_d%v", d)
		}
		c.Name += fmt.Sprintf("_c%v", b.member("concurrency").needed())
		if b.member("is_context_prefill_phase").text() == "true" {
			c.What["phase"] = "context prefill"
			c.Name += "_context"
		}
		if c.What["context_size"] != "0" && n.member("prefix_caching_enabled").text() != "true" {
			f.note("pp of %s also counts the context's tokens, because prefix caching was off; llama-bench prefills the context separately", c.Name)
		}
		for _, d := range benchyFields {
			if m := b.member(d.name); m.value != nil {
				stats := map[string]float64{"mean": m.member("mean").needed(), "std": m.member("std").needed()}
				c.Metrics = append(c.Metrics, d.metric(stats, m.member("values").amounts()...))
			}
		}
		f.Cells = append(f.Cells, c)
	}
}

// llama-bench writes one entry a test: n_gen = 0 is prefill, n_prompt = 0 is
// decode, n_depth the context before it, which is prefilled apart and not timed.
// There is no server, no network and no sampling in it. std has divisor n − 1.

func readLlamaBench(f *File, all node) {
	f.note("std is the sample standard deviation (divisor n − 1), over repetitions within one process")
	for _, n := range all.list() {
		prompt, gen := n.member("n_prompt").needed(), n.member("n_gen").needed()
		c, ts := Cell{What: n.texts()}, field{name: "ts", unit: "tok/s", better: higher}
		maps.DeleteFunc(c.What, func(name, _ string) bool {
			return slices.Contains([]string{"avg_ns", "stddev_ns", "avg_ts", "stddev_ts"}, name)
		})
		switch {
		case gen > 0 && prompt > 0:
			c.Name = fmt.Sprintf("pp%v_tg%v", prompt, gen)
			ts.means = "Prompt and generated tokens over the total time of both."
		case gen > 0:
			c.Name = fmt.Sprintf("tg%v", gen)
			ts.means = "Generated tokens over the time to generate them from an empty context, or after the context of @ d; tokens are random, not sampled."
		case prompt > 0:
			c.Name = fmt.Sprintf("pp%v", prompt)
			ts.means = "Prompt tokens over the time to process them, excluding the context before them; without server, sampling or network."
		default:
			n.wrong("n_prompt and n_gen are both 0, so nothing was measured")
		}
		if d := n.member("n_depth").needed(); d > 0 {
			c.Name += fmt.Sprintf("_d%v", d)
		}
		stats := map[string]float64{"mean": n.member("avg_ts").needed(), "std": n.member("stddev_ts").needed()}
		c.Metrics = []Metric{ts.metric(stats, n.member("samples_ts").amounts()...)}
		f.Model, f.Version, f.Date = cmp.Or(f.Model, c.What["model_type"]), c.What["build_commit"], c.What["test_time"]
		f.Cells = append(f.Cells, c)
	}
}

// AIPerf writes profile_export_aiperf.json: one object, a metric a member with its unit
// and statistics.

var aiperfFields = []field{
	{"time_to_first_token", "ms", lower, "Time from the send to the first chunk with content, reasoning included."},
	{"time_to_first_output_token", "ms", lower, "Time from the send to the first chunk of the answer, reasoning excluded."},
	{"time_to_second_token", "ms", lower, "Gap between the first and the second chunk."},
	{"inter_token_latency", "ms", lower, "(request latency − time to first token) / (output tokens − 1): what vLLM calls TPOT."},
	{"inter_chunk_latency", "ms", lower, "Gap between chunks: what vLLM calls ITL."},
	{"request_latency", "ms", lower, "Time from the send to the last chunk."},
	{"request_throughput", "req/s", higher, "Answered requests, over the duration of the benchmark."},
	{"output_token_throughput", "tok/s", higher, "Output tokens of all requests, over the duration of the benchmark."},
	{"output_token_throughput_per_user", "tok/s", higher, "1 / inter_token_latency of each request."},
	{"total_token_throughput", "tok/s", higher, "Prompt and output tokens of all requests, over the duration."},
	{"goodput", "req/s", higher, "Requests within the declared limits, over the duration."},
	{"benchmark_duration", "s", neither, "Time of the measured phase."},
	{"request_count", "requests", neither, "Answered requests."},
	{"error_request_count", "requests", lower, "Failed requests."},
	{"output_sequence_length", "tokens", neither, "Tokens of each answer, reasoning included."},
	{"output_token_count", "tokens", neither, "Tokens of each answer, reasoning excluded."},
	{"input_sequence_length", "tokens", neither, "Tokens of each prompt."},
}

// aiperfUnits are the tool's words for units and mxflow's, where they mean the
// same.
var aiperfUnits = map[string]string{"requests/sec": "req/s", "tokens/sec": "tok/s", "sec": "s", "seconds": "s"}

func readAIPerf(f *File, n node) {
	f.Version = cmp.Or(n.member("aiperf_version").text(), n.member("schema_version").text())
	f.Date = n.member("start_time").text()
	c := Cell{Name: "all", What: n.member("run_info").texts("run_label", "variation_label", "random_seed")}
	c.Name = cmp.Or(c.What["variation_label"], c.Name)
	for _, m := range n.member("input_config").member("models").member("items").list() {
		f.Model = cmp.Or(f.Model, m.member("name").text())
	}
	for _, phase := range n.member("input_config").member("phases").list() {
		if phase.member("name").text() == "profiling" {
			maps.Copy(c.What, phase.texts("concurrency", "request_rate"))
		}
	}
	if n.member("was_cancelled").text() == "true" {
		f.note("the run was cancelled: its numbers cover the time until then")
	}
	failed := 0.0
	for _, e := range n.member("error_summary").list() {
		failed += e.member("count").needed()
	}
	if failed > 0 {
		f.note("%g requests failed: the numbers cover only those that were answered", failed)
	}
	for _, name := range n.names() {
		m := n.member(name)
		if !m.has("unit") {
			continue // not a metric: run_info, telemetry_data, …
		}
		// An unknown name keeps its literal meaning, and no direction.
		d := field{name: name, means: "Defined by the tool; unknown to mxflow."}
		i := slices.IndexFunc(aiperfFields, func(d field) bool { return d.name == name })
		if i >= 0 {
			d = aiperfFields[i]
		}
		unit := m.member("unit").text()
		d.unit = cmp.Or(aiperfUnits[unit], unit)
		stats, count := map[string]float64{}, 0.0
		for _, stat := range m.names() {
			if stat == "unit" || stat == "sum" {
				continue
			}
			x, ok := m.member(stat).number()
			if i >= 0 {
				x, ok = m.member(stat).amount()
			}
			switch {
			case !ok:
			case stat == "count":
				count = x
			case stat == "avg":
				stats["mean"] = x
			default:
				stats[stat] = x
			}
		}
		if len(stats) > 0 {
			metric := d.metric(stats)
			metric.N = int(count)
			c.Metrics = append(c.Metrics, metric)
		}
	}
	f.Cells = append(f.Cells, c)
}

// `vllm bench serve` writes one flat object; with --append-result several follow each
// other. Statistics are numpy's: std has divisor n, percentiles are linear (type 7).

var vllmFields = []field{
	{"request_throughput", "req/s", higher, "Answered requests, over the duration of the benchmark."},
	{"request_goodput", "req/s", higher, "Answered requests within the limits of --goodput, over the duration."},
	{"output_throughput", "tok/s", higher, "Output tokens of all requests, over the duration, including prefill and ramps."},
	{"total_token_throughput", "tok/s", higher, "Prompt and output tokens of all requests, over the duration."},
	{"max_output_tokens_per_s", "tok/s", higher, "Maximum chunks within one second, each counted as a token."},
	{"max_concurrent_requests", "requests", neither, "Maximum requests in flight."},
	{"duration", "s", neither, "From the first send to the last answer."},
	{"completed", "requests", neither, "Answered requests."},
	{"failed", "requests", lower, "Failed requests."},
	{"total_input_tokens", "tokens", neither, "Prompt tokens, counted by the tool's tokenizer."},
	{"total_output_tokens", "tokens", neither, "Output tokens, counted by the server or the tool's tokenizer."},
	{"spec_decode_acceptance_rate", "%", higher, "Accepted share of drafted tokens, by the server's counters."},
	{"spec_decode_acceptance_length", "tokens", higher, "Tokens per step, including the one that is always accepted."},
	{"spec_decode_num_drafts", "count", neither, "Drafts."},
	{"spec_decode_draft_tokens", "tokens", neither, "Drafted tokens."},
	{"spec_decode_accepted_tokens", "tokens", neither, "Accepted tokens."},
	{"ttft_ms", "ms", lower, "Time from the send to the first chunk with a choice, which in a chat is the role chunk, without text."},
	{"tpot_ms", "ms", lower, "(last chunk − first chunk) / (output tokens − 1) of each request."},
	{"itl_ms", "ms", lower, "Gap between chunks, not tokens: with several tokens per chunk, as in speculative decoding, it is longer than the time per token."},
	{"e2el_ms", "ms", lower, "Time from the send to the last chunk of each request."},
}

// SGLang's bench_serving, which began as a copy of it, appends one object a line
// to its output file. Where there is no limit the rate is written as a bare
// Infinity, which is not JSON.

var sglangFields = []field{
	{"request_throughput", "req/s", higher, "Answered requests, over the duration of the benchmark."},
	{"input_throughput", "tok/s", higher, "Prompt tokens of all requests, over the duration."},
	{"output_throughput", "tok/s", higher, "Output tokens of all requests, over the duration. The server's count, or the requested number: chats do not request usage."},
	{"total_throughput", "tok/s", higher, "Prompt and output tokens of all requests, over the duration."},
	{"duration", "s", neither, "From the first send to the last answer."},
	{"completed", "requests", neither, "Answered requests."},
	{"concurrency", "requests", neither, "Sum of the requests' times over the duration: the average in flight."},
	{"accept_length", "tokens", higher, "Tokens per step of speculative decoding, by the server's own average."},
	{"total_input_tokens", "tokens", neither, "Prompt tokens."},
	{"total_output_tokens", "tokens", neither, "Output tokens; see output_throughput for how they are counted."},
	{"total_output_tokens_retokenized", "tokens", neither, "Output tokens, counted in the text by the tool's tokenizer."},
	{"ttft_ms", "ms", lower, "Time from the send to the first chunk with text."},
	{"tpot_ms", "ms", lower, "(end − first chunk) / (output tokens − 1) of each request."},
	{"itl_ms", "ms", lower, "Gap between chunks divided by the tool's estimate of their tokens."},
	{"e2e_latency_ms", "ms", lower, "Time from the send to the end of each request."},
}

// mayBeZero are numbers that can be zero. Others are written as zero where they have no
// basis (no answer, no token, no second token), and are absent then: zero meets any limit.
var mayBeZero = regexp.MustCompile(`^(duration|completed|failed|max_concurrent_requests|total_(in|out)put_tokens.*|spec_decode_.*)$`)

var timeStat = regexp.MustCompile(`^(mean|median|std|min|max|p[0-9.]+)_(.+)$`)

// serving reads one result of vLLM or SGLang, a flat object of numbers; a time is several
// of them, by its statistic: mean_ttft_ms, p99_ttft_ms.
func (f *File) serving(n node, fields []field) {
	f.note("std is the population standard deviation (divisor n) and percentiles are interpolated linearly, over requests to one server")
	f.Model, f.Date = cmp.Or(f.Model, n.member("model_id").text()), n.member("date").text()
	c := Cell{What: n.texts("backend", "endpoint_type", "model_id", "dataset_name", "num_prompts", "request_rate", "burstiness", "max_concurrency",
		"input_len", "output_len", "random_input_len", "random_output_len", "random_range_ratio", "sharegpt_output_len", "date", "label", "ramp_up_strategy")}
	c.Name = "r" + cmp.Or(strings.TrimSuffix(c.What["request_rate"], ".0"), "inf")
	if most := c.What["max_concurrency"]; most != "" {
		c.Name += "_c" + most
	}
	times := map[string]map[string]float64{}
	for _, name := range n.names() {
		if parts := timeStat.FindStringSubmatch(name); parts != nil {
			if x, ok := n.member(name).amount(); ok {
				if times[parts[2]] == nil {
					times[parts[2]] = map[string]float64{}
				}
				times[parts[2]][strings.ReplaceAll(parts[1], ".", "_")] = x
			}
		}
	}
	for _, d := range fields {
		stats := times[d.name]
		if x, ok := n.member(d.name).amount(); ok {
			stats = map[string]float64{"value": x}
		}
		all := slices.Sorted(maps.Values(stats))
		if len(all) > 0 && (slices.Max(all) > 0 || mayBeZero.MatchString(d.name)) {
			c.Metrics = append(c.Metrics, d.metric(stats))
		}
	}
	asked, ok := n.member("num_prompts").amount()
	if completed := n.member("completed").needed(); ok && asked > completed {
		f.note("%s: %g of %g requests were answered; the numbers only cover these", c.Name, completed, asked)
	}
	counted, _ := n.member("total_output_tokens").amount()
	if again, ok := n.member("total_output_tokens_retokenized").amount(); ok && again < 0.9*counted {
		f.note("%s: the file counts %g output tokens, but the text has %g: the tool probably counted the requested length", c.Name, counted, again)
	}
	f.Cells = append(f.Cells, c)
}
