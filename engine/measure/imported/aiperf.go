package imported

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// AIPerf writes profile_export_aiperf.json (one object, a metric a member with
// its unit and statistics), aggregates over several runs of it, and
// profile_export.jsonl (one object a request).

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
	if about := n.member("metadata"); n.has("metrics") && (about.has("benchmark_phase") || about.has("aggregation_type")) {
		return true
	}
	return n.has("schema_version") || n.has("request_latency") && n.member("request_latency").has("unit", "avg")
}

func readAIPerf(f *File, all []node) {
	first := all[0]
	if first.member("metadata").has("benchmark_phase") {
		f.aiperfRecords(all)
		return
	}
	if len(all) > 1 {
		all[1].wrong("the file has more than one document")
		return
	}
	c := Cell{Name: "all", What: what(first, "schema_version")}
	members := first
	if first.has("metadata", "metrics") {
		members = first.member("metrics")
		c.Name = "aggregate"
		f.note("statistics are over runs of the tool; each run's number is itself a statistic, as its name says")
	} else {
		f.Version = first.member("schema_version").text()
		f.Date = first.member("start_time").text()
		info := first.member("run_info")
		maps.Copy(c.What, what(info, "run_label", "variation_label", "random_seed"))
		c.Name = cmp.Or(info.member("variation_label").text(), c.Name)
		asked := strings.Fields(info.member("cli_command").text())
		f.Model = cmp.Or(first.member("input_config").member("endpoint").member("model_names").firstText(), argument(asked, "--model", "--model-names", "-m"))
		load := first.member("input_config").member("loadgen").member("concurrency").text()
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
	}
	object, _ := members.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		m := members.member(name)
		if !m.has("unit") {
			continue // not a metric: run_info, telemetry_data, …
		}
		if stats, n := aiperfStats(m); len(stats) > 0 {
			metric := aiperfMetric(name, m.member("unit").text(), stats)
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

func aiperfMetric(name, unit string, stats map[string]float64) Metric {
	d := aiperfMetrics[name]
	d.unit = cmp.Or(aiperfUnits[unit], unit)
	return d.metric(name, stats)
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

// aiperfRecords reads one request per line, and computes statistics as mxflow does.
func (f *File) aiperfRecords(all []node) {
	values, units, failed := map[string][]float64{}, map[string]string{}, 0
	for _, n := range all {
		if !n.has("metadata", "metrics") {
			n.wrong("it is not a request record like the first in the file")
		}
		if phase := n.member("metadata").member("benchmark_phase").text(); phase != "profiling" {
			continue
		}
		if n.member("error").value != nil {
			failed++
			continue
		}
		metrics := n.member("metrics")
		object, _ := metrics.value.(map[string]any)
		for name := range object {
			m := metrics.member(name)
			list := []node{m.member("value")}
			if _, many := m.member("value").value.([]any); many {
				list = m.member("value").list()
			}
			for _, v := range list {
				if x, ok := v.number(); ok {
					values[name] = append(values[name], x)
				}
			}
			units[name] = m.member("unit").text()
		}
	}
	if failed > 0 {
		f.note("%d requests failed; the numbers exclude them", failed)
	}
	f.note("the file has single requests: statistics are computed like mxflow's own (sample standard deviation, percentiles of type 8)")
	c := Cell{Name: "all"}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if s, ok := (measure.Metric{Unit: units[name]}).Summary(values[name]); ok {
			c.Metrics = append(c.Metrics, aiperfMetric(name, units[name], s.Stats).withValues(values[name]))
		}
	}
	f.Cells = append(f.Cells, c)
}
