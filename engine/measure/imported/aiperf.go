package imported

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// AIPerf writes profile_export_aiperf.json: one object, a metric a member with its unit
// and statistics.

var aiperfMetrics = map[string]definition{
	"time_to_first_token":              {better: lower, means: "Time from the send to the first chunk with content, reasoning included."},
	"time_to_first_output_token":       {better: lower, means: "Time from the send to the first chunk of the answer, reasoning excluded."},
	"time_to_second_token":             {better: lower, means: "Gap between the first and the second chunk."},
	"inter_token_latency":              {better: lower, means: "(request latency − time to first token) / (output tokens − 1): what vLLM calls TPOT."},
	"inter_chunk_latency":              {better: lower, means: "Gap between chunks: what vLLM calls ITL."},
	"request_latency":                  {better: lower, means: "Time from the send to the last chunk."},
	"request_throughput":               {better: higher, means: "Answered requests, over the duration of the benchmark."},
	"output_token_throughput":          {better: higher, means: "Output tokens of all requests, over the duration of the benchmark."},
	"output_token_throughput_per_user": {better: higher, means: "1 / inter_token_latency of each request."},
	"total_token_throughput":           {better: higher, means: "Prompt and output tokens of all requests, over the duration."},
	"goodput":                          {better: higher, means: "Requests within the declared limits, over the duration."},
	"benchmark_duration":               {means: "Time of the measured phase."},
	"request_count":                    {means: "Answered requests."},
	"error_request_count":              {better: lower, means: "Failed requests."},
	"output_sequence_length":           {means: "Tokens of each answer, reasoning included."},
	"output_token_count":               {means: "Tokens of each answer, reasoning excluded."},
	"input_sequence_length":            {means: "Tokens of each prompt."},
}

// aiperfUnits are the tool's words for units and mxflow's, where they mean the
// same.
var aiperfUnits = map[string]string{"requests/sec": "req/s", "tokens/sec": "tok/s", "sec": "s", "seconds": "s"}

func isAIPerf(n node) bool {
	return n.has("schema_version") || n.has("request_latency") && n.member("request_latency").has("unit", "avg")
}

func readAIPerf(f *File, all []node) {
	if len(all) > 1 {
		all[1].wrong("the file has more than one document")
		return
	}
	first := all[0]
	c := Cell{Name: "all", What: what(first, "schema_version")}
	f.Version = cmp.Or(first.member("aiperf_version").text(), first.member("schema_version").text())
	f.Date = first.member("start_time").text()
	info := first.member("run_info")
	maps.Copy(c.What, what(info, "run_label", "variation_label", "random_seed"))
	c.Name = cmp.Or(info.member("variation_label").text(), c.Name)
	asked := strings.Fields(strings.NewReplacer(`'`, "", `"`, "").Replace(info.member("cli_command").text()))
	config := first.member("input_config")
	f.Model = cmp.Or(config.member("endpoint").member("model_names").firstText(), argument(asked, "--model", "--model-names", "-m"))
	load := config.member("loadgen").member("concurrency").text()
	rate := config.member("loadgen").member("request_rate").text()
	for _, phase := range config.member("phases").list() {
		if phase.member("name").text() == "profiling" {
			load, rate = phase.member("concurrency").text(), cmp.Or(phase.member("request_rate").text(), phase.member("rate").text())
		}
	}
	if varied, ok := info.member("variation_values").value.(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(varied)) {
			if name == "concurrency" || strings.HasSuffix(name, ".concurrency") {
				load = info.member("variation_values").member(name).text()
			}
		}
	}
	if load = cmp.Or(load, argument(asked, "--concurrency")); load != "" {
		c.What["concurrency"] = load
	}
	if rate = cmp.Or(rate, argument(asked, "--request-rate")); rate != "" {
		c.What["request_rate"] = rate
	}
	if first.member("was_cancelled").text() == "true" {
		f.note("the run was cancelled: its numbers cover what was done until then")
	}
	failed := 0.0
	for _, e := range first.member("error_summary").list() {
		n, _ := e.member("count").amount()
		failed += n
	}
	if failed > 0 {
		f.note("%g requests failed: the numbers cover only those that were answered", failed)
	}
	object, _ := first.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		m := first.member(name)
		if !m.has("unit") {
			continue // not a metric: run_info, telemetry_data, …
		}
		if stats, n := aiperfStats(m); len(stats) > 0 {
			d, unit := aiperfMetrics[name], m.member("unit").text()
			d.unit = cmp.Or(aiperfUnits[unit], unit)
			metric := d.metric(name, stats)
			metric.N = n
			c.Metrics = append(c.Metrics, metric)
		}
	}
	f.Cells = append(f.Cells, c)
}

// argument is the value of a flag in a command line, under any of its names; empty if
// absent.
func argument(args []string, names ...string) string {
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case !slices.Contains(names, flag):
		case joined:
			return value
		case i+1 < len(args):
			return args[i+1]
		}
	}
	return ""
}

// aiperfStats are the numbers beside a metric's unit; avg is called mean.
func aiperfStats(m node) (map[string]float64, int) {
	object, _ := m.value.(map[string]any)
	stats, n := map[string]float64{}, 0
	for _, name := range slices.Sorted(maps.Keys(object)) { // so names that clash always do so the same way
		if _, isText := object[name].(string); isText || name == "unit" || name == "sum" {
			continue
		}
		x, ok := m.member(name).number()
		switch {
		case !ok:
		case name == "count":
			n = int(x)
		case name == "avg":
			stats["mean"] = x
		default:
			stats[name] = x
		}
	}
	return stats, n
}
