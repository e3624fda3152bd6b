package imported

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// vLLM's benchmark_serving and `vllm bench serve` write one flat object; with
// --append-result several follow each other. Statistics are numpy's: std has
// divisor n, percentiles are linear (type 7).

var vllmTimes = []named{
	{"ttft_ms", definition{"ms", lower, "Time from the send to the first chunk with a choice, which in a chat is the role chunk, without text."}},
	{"tpot_ms", definition{"ms", lower, "(last chunk − first chunk) / (output tokens − 1) of each request."}},
	{"itl_ms", definition{"ms", lower, "Gap between chunks, not tokens: with several tokens per chunk, as in speculative decoding, it is longer than the time per token."}},
	{"e2el_ms", definition{"ms", lower, "Time from the send to the last chunk of each request."}},
}

var vllmNumbers = []named{
	{"request_throughput", definition{"req/s", higher, "Answered requests, over the duration of the benchmark."}},
	{"request_goodput", definition{"req/s", higher, "Answered requests within the limits of --goodput, over the duration."}},
	{"output_throughput", definition{"tok/s", higher, "Output tokens of all requests, over the duration, including prefill and ramps."}},
	{"total_token_throughput", definition{"tok/s", higher, "Prompt and output tokens of all requests, over the duration."}},
	{"max_output_tokens_per_s", definition{"tok/s", higher, "Maximum chunks within one second, each counted as a token."}},
	{"max_concurrent_requests", definition{"requests", neither, "Maximum requests in flight."}},
	{"duration", definition{"s", neither, "From the first send to the last answer."}},
	{"completed", definition{"requests", neither, "Answered requests."}},
	{"failed", definition{"requests", lower, "Failed requests."}},
	{"total_input_tokens", definition{"tokens", neither, "Prompt tokens, counted by the tool's tokenizer."}},
	{"total_output_tokens", definition{"tokens", neither, "Output tokens, counted by the server or the tool's tokenizer."}},
	{"spec_decode_acceptance_rate", definition{"%", higher, "Accepted share of drafted tokens, by the server's counters."}},
	{"spec_decode_acceptance_length", definition{"tokens", higher, "Tokens per step, including the one that is always accepted."}},
	{"spec_decode_num_drafts", definition{"count", neither, "Drafts."}},
	{"spec_decode_draft_tokens", definition{"tokens", neither, "Drafted tokens."}},
	{"spec_decode_accepted_tokens", definition{"tokens", neither, "Accepted tokens."}},
}

// SGLang's bench_serving, which began as a copy of it, appends one object a line
// to its output file. Where there is no limit the rate is written as a bare
// Infinity, which is not JSON.

var sglangTimes = []named{
	{"ttft_ms", definition{"ms", lower, "Time from the send to the first chunk with text."}},
	{"tpot_ms", definition{"ms", lower, "(end − first chunk) / (output tokens − 1) of each request."}},
	{"itl_ms", definition{"ms", lower, "In newer versions, the gap between chunks divided by the tool's estimate of their tokens; in older ones, the gap between chunks."}},
	{"e2e_latency_ms", definition{"ms", lower, "Time from the send to the end of each request."}},
}

var sglangNumbers = []named{
	{"request_throughput", definition{"req/s", higher, "Answered requests, over the duration of the benchmark."}},
	{"input_throughput", definition{"tok/s", higher, "Prompt tokens of all requests, over the duration."}},
	{"output_throughput", definition{"tok/s", higher, "Output tokens of all requests, over the duration. The server's count, or the requested number: chats do not request usage."}},
	{"total_throughput", definition{"tok/s", higher, "Prompt and output tokens of all requests, over the duration."}},
	{"duration", definition{"s", neither, "From the first send to the last answer."}},
	{"completed", definition{"requests", neither, "Answered requests."}},
	{"concurrency", definition{"requests", neither, "Sum of the requests' times over the duration: the average in flight."}},
	{"accept_length", definition{"tokens", higher, "Tokens per step of speculative decoding, by the server's own average."}},
	{"total_input_tokens", definition{"tokens", neither, "Prompt tokens."}},
	{"total_output_tokens", definition{"tokens", neither, "Output tokens; see output_throughput for who counted them."}},
	{"total_output_tokens_retokenized", definition{"tokens", neither, "Output tokens, counted in the text by the tool's tokenizer."}},
}

func isVLLM(n node) bool {
	return n.has("completed", "duration", "total_input_tokens") && (n.has("num_prompts") || n.has("model_id") || n.has("request_throughput"))
}

func isSGLang(n node) bool {
	return n.has("completed", "duration", "dataset_name", "total_input_tokens") && !n.has("num_prompts")
}

func readVLLM(f *File, all []node) {
	f.note("std is the population standard deviation (divisor n) and percentiles are interpolated linearly, over requests to one server")
	for _, n := range all {
		if !isVLLM(n) {
			n.wrong("it is not a vLLM result like the first in the file")
			return
		}
		f.of(n.member("model_id").text(), "", n.member("date").text())
		c := servingCell(n, vllmNumbers, vllmTimes,
			"backend", "endpoint_type", "model_id", "num_prompts", "request_rate", "burstiness", "max_concurrency", "input_len", "output_len", "date", "label", "ramp_up_strategy")
		f.vllmTraps(n, c)
		f.zeros(&c)
		f.unread(n, c, vllmNumbers, vllmTimes)
		f.Cells = append(f.Cells, c)
	}
}

func readSGLang(f *File, all []node) {
	f.note("std is the population standard deviation (divisor n), over requests to one server")
	for _, n := range all {
		if !isSGLang(n) {
			n.wrong("it is not an SGLang result like the first in the file")
			return
		}
		c := servingCell(n, sglangNumbers, sglangTimes,
			"backend", "dataset_name", "request_rate", "max_concurrency", "random_input_len", "random_output_len", "random_range_ratio", "sharegpt_output_len")
		counted, ok := n.member("total_output_tokens").amount()
		again, both := n.member("total_output_tokens_retokenized").amount()
		f.zeros(&c)
		f.unread(n, c, sglangNumbers, sglangTimes)
		f.Cells = append(f.Cells, c)
		if ok && both && again < 0.9*counted {
			f.note("%s: the file counts %g output tokens, but the text has %g: the tool probably counted the requested length", c.Name, counted, again)
		}
	}
}

// servingCell reads one result of a flat object, with the parameters named.
func servingCell(n node, numbers, times []named, parameters ...string) Cell {
	c := Cell{What: what(n, parameters...)}
	c.Name = servingName(c.What)
	for _, d := range numbers {
		m := n.member(d.name)
		if m.value == nil {
			m = n.member(d.name + ":") // vLLM's name of request_goodput in 2025
		}
		if x, ok := m.amount(); ok {
			c.Metrics = append(c.Metrics, d.metric(d.name, map[string]float64{"value": x}))
		}
	}
	for _, d := range times {
		if stats := prefixed(n, d.name); len(stats) > 0 {
			c.Metrics = append(c.Metrics, d.metric(d.name, stats))
		}
	}
	return c
}

// counts are numbers that can be zero.
var counts = []string{"duration", "completed", "failed", "max_concurrent_requests", "total_input_tokens", "total_output_tokens", "total_output_tokens_retokenized"}

// zeros drops what is zero throughout and cannot be. The tools write that for numbers
// without a basis: no answer, no token, no second token.
func (f *File) zeros(c *Cell) {
	var dropped []string
	c.Metrics = slices.DeleteFunc(c.Metrics, func(m Metric) bool {
		if slices.Contains(counts, m.Name) || strings.HasPrefix(m.Name, "spec_decode_") {
			return false
		}
		for _, x := range m.Stats {
			if x != 0 {
				return false
			}
		}
		dropped = append(dropped, m.Name)
		return true
	})
	if len(dropped) > 0 {
		f.note("%s: zero, which stands for no value, so not read: %s", c.Name, strings.Join(dropped, ", "))
	}
}

// unread notes the unread numbers of a flat object: a fork of the tool may have renamed a
// time, or counted it in other units.
func (f *File) unread(n node, c Cell, numbers, times []named) {
	object, _ := n.value.(map[string]any)
	var left []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		_, number := object[key].(json.Number)
		_, parameter := c.What[key]
		if !number || parameter || slices.ContainsFunc(numbers, func(d named) bool { return d.name == strings.TrimSuffix(key, ":") }) {
			continue
		}
		if !slices.ContainsFunc(times, func(d named) bool {
			stat, of := strings.CutSuffix(key, "_"+d.name)
			return of && timeStat.MatchString(stat)
		}) {
			left = append(left, key)
		}
	}
	if len(left) > 0 {
		f.note("%s: not read, meaning unknown: %s", c.Name, Printable(strings.Join(left[:min(len(left), mostUnread)], ", ")+more(len(left)-mostUnread)))
	}
}

// mostUnread limits the names in a note.
const mostUnread = 20

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

var timeStat = regexp.MustCompile(`^(mean|median|std|min|max|p[0-9]+(\.[0-9]+)?)$`)

// prefixed collects mean_x, median_x, std_x and p99_x of a name x.
func prefixed(n node, name string) map[string]float64 {
	object, _ := n.value.(map[string]any)
	stats := map[string]float64{}
	for key := range object {
		stat, of := strings.CutSuffix(key, "_"+name)
		if !of || !timeStat.MatchString(stat) {
			continue
		}
		if x, ok := n.member(key).amount(); ok {
			stats[strings.ReplaceAll(stat, ".", "_")] = x
		}
	}
	return stats
}

// vllmTraps looks for what has misled readers of these files.
func (f *File) vllmTraps(n node, c Cell) {
	completed, _ := n.member("completed").amount()
	if asked, ok := n.member("num_prompts").amount(); ok && asked > completed {
		f.note("%s: %g of %g requests were answered; the numbers only cover these", c.Name, completed, asked)
	}
	seconds := n.member("ttfts").numbers()
	at := n.member("mean_ttft_ms")
	mean, ok := at.amount()
	if !ok || float64(len(seconds)) != completed {
		return
	}
	ms := slices.Clone(seconds)
	for i := range ms {
		ms[i] *= 1000
	}
	switch {
	case agrees(mean, ms, 0.01):
	case agrees(mean, seconds, 0.01):
		at.wrong("it is %v, the mean of ttfts in seconds instead of ms: a fork of the tool wrote this file, so its units are unreliable", mean)
	default:
		at.wrong("it is %v, not the mean of the file's ttfts: the file was edited or is damaged", mean)
	}
}

// what are parameters of a result, as far as present.
func what(n node, names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		if text := n.member(name).text(); text != "" {
			out[name] = text
		}
	}
	return out
}

// servingName names a cell of a serving benchmark by its load: "r4", "rinf_c16".
func servingName(what map[string]string) string {
	rate := strings.TrimSuffix(what["request_rate"], ".0")
	if rate == "" {
		rate = "inf"
	}
	name := fmt.Sprintf("r%s", rate)
	if c := what["max_concurrency"]; c != "" {
		name += "_c" + c
	}
	return name
}
