package imported

import (
	"encoding/json"
	"regexp"
	"strings"
)

// MLPerf LoadGen writes mlperf_log_summary.txt: titles between lines of =, and
// below them "name : value". Latencies are in ns and count from the scheduled
// time of the query. Version 0.5 has those of queries and of samples under one key, each
// below a line that says which.

var loadgenLine = regexp.MustCompile(`^\s*(.+?)\s*:\s*(.*?)\s*$`)

// loadgenStat matches a line with a latency statistic: "99.90 percentile first token
// latency (ns)".
var loadgenStat = regexp.MustCompile(`^(?:([0-9]+\.[0-9]+) percentile|(Min|Max|Mean)) (.+) \(ns\)$`)

var loadgenLatencies = map[string]definition{
	"sample_latency":       {"ms", lower, "Time of a sample, from when its query was scheduled to its answer; each sample of a query has its own."},
	"latency":              {"ms", lower, "Time of a query, from when it was scheduled to its last token or answer."},
	"first_token_latency":  {"ms", lower, "Time from when the query was scheduled to its first token."},
	"time_to_output_token": {"ms", lower, "(time of the last token − time of the first) / (tokens − 1) of each query."},
}

var loadgenSpeeds = map[string]definition{
	"Samples per second":                     {"req/s", higher, "Answered samples, over the time of the test."},
	"Queries per second":                     {"req/s", higher, "Answered queries, over the time of the test."},
	"Scheduled samples per second":           {"req/s", neither, "Scheduled samples, over the time of the test: the load, not a result."},
	"Completed samples per second":           {"req/s", higher, "Answered samples, over the time of the test."},
	"Tokens per second":                      {"tok/s", higher, "Output tokens of all samples, over the time of the test."},
	"Completed tokens per second":            {"tok/s", higher, "Output tokens of answered samples, over the time of the test."},
	"QPS w/ loadgen overhead":                {"req/s", higher, "Queries per second, including LoadGen's own time."},
	"QPS w/o loadgen overhead":               {"req/s", higher, "Queries per second, excluding LoadGen's own time."},
	"Tokens per second (inferred)":           {"tok/s", higher, "Output tokens over the time of the test, inferred from the average length."},
	"Completed tokens per second (inferred)": {"tok/s", higher, "Output tokens of answered samples over the time of the test, inferred from the average length."},
}

func readLoadGen(f *File, s *source, data []byte) {
	c := Cell{What: map[string]string{}}
	latencies := map[string]map[string]float64{} // statistics in ms, by name
	var order []string
	valid, number, of := "", 0, ""
	for line := range strings.Lines(string(data)) {
		number++
		m := loadgenLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		key, value := m[1], m[2]
		at := node{s, number, key, json.Number(value)}
		if speed, ok := loadgenSpeeds[key]; ok {
			c.Metrics = append(c.Metrics, speed.metric(strings.ToLower(word(key)), map[string]float64{"value": at.needed()}))
			continue
		}
		if name, stat, ok := loadgenLatency(key); ok {
			if name == "latency" {
				name = of + name
			}
			if latencies[name] == nil {
				latencies[name] = map[string]float64{}
				order = append(order, name)
			}
			if _, twice := latencies[name][stat]; twice {
				at.wrong("it occurs twice, so its value is ambiguous")
			}
			latencies[name][stat] = at.needed() / 1e6
			continue
		}
		switch key {
		case "Per-query latency":
			of = ""
		case "Per-sample latency":
			of = "sample_"
		case "SUT name":
			f.Model = value
		case "Result is":
			valid = value
		}
		if _, known := c.What[key]; !known && len(c.What) < 200 {
			c.What[key] = value
		}
	}
	c.Name = strings.ToLower(strings.ReplaceAll(c.What["Scenario"], " ", "_"))
	if c.Name == "" {
		s.wrong(0, "", "it has no Scenario: it is truncated, or not a summary")
	}
	switch valid {
	case "VALID":
	case "":
		s.wrong(0, "", `it lacks the line "Result is": it is truncated`)
	default:
		f.note("LoadGen calls this result %s", valid)
	}
	for _, name := range order {
		c.Metrics = append(c.Metrics, loadgenLatencies[name].metric(name, latencies[name]))
	}
	f.note("latencies count from the scheduled time of a query; converted from ns")
	f.Cells = append(f.Cells, c)
}

func loadgenLatency(key string) (name, stat string, ok bool) {
	m := loadgenStat.FindStringSubmatch(key)
	if m == nil {
		return "", "", false
	}
	if stat = strings.ToLower(m[2]); m[1] != "" {
		stat = "p" + strings.ReplaceAll(strings.TrimRight(strings.TrimRight(m[1], "0"), "."), ".", "_")
	}
	name = strings.ToLower(strings.ReplaceAll(m[3], " ", "_"))
	_, ok = loadgenLatencies[name]
	return name, stat, ok
}
