package imported

import (
	"fmt"
	"regexp"
	"strings"
)

// vLLM's benchmark_serving and `vllm bench serve` write one flat object; with
// --append-result several follow each other. Statistics are numpy's: std has
// divisor n, percentiles are linear (type 7).

var vllmTimes = []struct {
	name string
	definition
}{
	{"ttft_ms", definition{"ms", lower, "Time from the send to the first chunk with a choice, which in a chat is the role chunk and holds no text."}},
	{"tpot_ms", definition{"ms", lower, "(last chunk − first chunk) / (output tokens − 1) of each request."}},
	{"itl_ms", definition{"ms", lower, "Gap between chunks, not between tokens: with several tokens in a chunk, as in speculative decoding, it is longer than a token took."}},
	{"e2el_ms", definition{"ms", lower, "Time from the send to the last chunk of each request."}},
}

var vllmNumbers = []struct {
	name string
	definition
}{
	{"request_throughput", definition{"req/s", higher, "Requests that were answered, over the duration of the benchmark."}},
	{"request_goodput", definition{"req/s", higher, "Answered requests that kept the limits of --goodput, over the duration."}},
	{"output_throughput", definition{"tok/s", higher, "Output tokens of all requests, over the duration: prefill and ramps are in it."}},
	{"total_token_throughput", definition{"tok/s", higher, "Prompt and output tokens of all requests, over the duration."}},
	{"max_output_tokens_per_s", definition{"tok/s", higher, "The most chunks within a second, each counted as a token."}},
	{"max_concurrent_requests", definition{"requests", neither, "The most requests in flight at once."}},
	{"duration", definition{"s", neither, "From the first send to the last answer."}},
	{"completed", definition{"requests", neither, "Requests that were answered."}},
	{"failed", definition{"requests", lower, "Requests that were not."}},
	{"total_input_tokens", definition{"tokens", neither, "Prompt tokens, as the tool's tokenizer counts them."}},
	{"total_output_tokens", definition{"tokens", neither, "Output tokens, as the server or the tool's tokenizer counts them."}},
	{"spec_decode_acceptance_rate", definition{"%", higher, "Accepted of drafted tokens, by the server's counters."}},
	{"spec_decode_acceptance_length", definition{"tokens", higher, "Tokens a step, the one that is always right included."}},
	{"spec_decode_num_drafts", definition{"count", neither, "Drafts."}},
	{"spec_decode_draft_tokens", definition{"tokens", neither, "Drafted tokens."}},
	{"spec_decode_accepted_tokens", definition{"tokens", neither, "Accepted tokens."}},
}

func isVLLM(n node) bool {
	return n.has("completed", "duration", "total_input_tokens") && (n.has("num_prompts") || n.has("model_id") || n.has("request_throughput"))
}

func readVLLM(f *File, all []node) error {
	f.note("std is of the population (divisor n) and percentiles are interpolated linearly, over requests of one server")
	for _, n := range all {
		if !isVLLM(n) {
			return n.wrong("it is no result of vLLM's, as the first of the file is")
		}
		if model := n.member("model_id").text(); f.Model == "" {
			f.Model, f.Date = model, n.member("date").text()
		} else if model != f.Model {
			f.note("results of several models are in the file")
		}
		c, err := vllmCell(n)
		if err != nil {
			return err
		}
		if err := f.vllmTraps(n, c); err != nil {
			return err
		}
		f.Cells = append(f.Cells, c)
	}
	return nil
}

func vllmCell(n node) (c Cell, err error) {
	c.What = what(n, "backend", "endpoint_type", "model_id", "num_prompts", "request_rate", "burstiness", "max_concurrency", "input_len", "output_len", "date", "label", "ramp_up_strategy")
	c.Name = servingName(c.What)
	for _, d := range vllmNumbers {
		m := n.member(d.name)
		if d.name == "request_goodput" && m.value == nil {
			m = n.member("request_goodput:") // so it was called in 2025
		}
		x, ok, err := m.amount()
		if err != nil {
			return c, err
		}
		if ok {
			c.Metrics = append(c.Metrics, d.metric(d.name, map[string]float64{"value": x}))
		}
	}
	for _, d := range vllmTimes {
		stats, err := prefixed(n, d.name)
		if err != nil {
			return c, err
		}
		if len(stats) > 0 {
			c.Metrics = append(c.Metrics, d.metric(d.name, stats))
		}
	}
	return c, nil
}

var percentileKey = regexp.MustCompile(`^p[0-9]+(\.[0-9]+)?$`)

// prefixed collects mean_x, median_x, std_x and p99_x of a name x.
func prefixed(n node, name string) (map[string]float64, error) {
	object, _ := n.value.(map[string]any)
	stats := map[string]float64{}
	for key := range object {
		stat, of := strings.CutSuffix(key, "_"+name)
		if !of || stat != "mean" && stat != "median" && stat != "std" && stat != "min" && stat != "max" && !percentileKey.MatchString(stat) {
			continue
		}
		x, ok, err := n.member(key).amount()
		if err != nil {
			return nil, err
		}
		if ok {
			stats[strings.ReplaceAll(stat, ".", "_")] = x
		}
	}
	return stats, nil
}

// vllmTraps looks for what has misled readers of these files.
func (f *File) vllmTraps(n node, c Cell) error {
	completed, _, err := n.member("completed").amount()
	if err != nil {
		return err
	}
	if asked, ok, err := n.member("num_prompts").amount(); err != nil {
		return err
	} else if ok && asked > completed {
		f.note("%s: %g of %g requests were answered; the numbers are of these alone", c.Name, completed, asked)
	}
	ttfts, err := n.member("ttfts").numbers()
	if err != nil || len(ttfts) == 0 {
		return err
	}
	for _, m := range c.Metrics {
		if m.Name != "ttft_ms" {
			continue
		}
		var ms []float64
		for _, s := range ttfts {
			ms = append(ms, s*1000)
		}
		mean, ok := m.Stats["mean"]
		switch {
		case !ok || float64(len(ttfts)) != completed || agreesWithin(mean, ms, 0.01):
		case agreesWithin(mean, ttfts, 0.01):
			return n.member("mean_ttft_ms").wrong("it is %v, which is the mean of ttfts in seconds and not in ms: a fork of the tool wrote this file, and its units cannot be relied on", mean)
		default:
			return n.member("mean_ttft_ms").wrong("it is %v, and the mean of the file's own ttfts is another: the file was changed, or is damaged", mean)
		}
	}
	return nil
}

func agreesWithin(mean float64, values []float64, share float64) bool {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	d := sum/float64(len(values)) - mean
	return d <= share*mean && -d <= share*mean
}

// what are parameters of a result, as far as it has them.
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
