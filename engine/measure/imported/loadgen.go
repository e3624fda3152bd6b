package imported

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// MLPerf LoadGen writes mlperf_log_summary.txt: titles between lines of =, and
// below them "name : value". Latencies are in ns and count from the scheduled
// time of the query.

var loadgenLine = regexp.MustCompile(`^\s*(.+?)\s*:\s*(.*?)\s*$`)

// loadgenStat are the forms in which a line names a statistic of a latency.
var loadgenStat = []struct {
	re   *regexp.Regexp
	stat func(m []string) string
	name func(m []string) string
}{
	{regexp.MustCompile(`^([0-9]+\.[0-9]+) percentile (.+) \(ns\)$`), func(m []string) string { return percentile(m[1]) }, func(m []string) string { return m[2] }},
	{regexp.MustCompile(`^(Min|Max|Mean) (.+) \(ns\)$`), func(m []string) string { return strings.ToLower(m[1]) }, func(m []string) string { return m[2] }},
}

func percentile(text string) string {
	return "p" + strings.ReplaceAll(strings.TrimRight(strings.TrimRight(text, "0"), "."), ".", "_")
}

var loadgenLatencies = map[string]definition{
	"latency":              {"ms", lower, "Time of a query, from when it was scheduled to its last token or answer."},
	"first_token_latency":  {"ms", lower, "Time from when the query was scheduled to its first token."},
	"time_to_output_token": {"ms", lower, "(time of the last token − time of the first) / (tokens − 1) of each query."},
}

var loadgenSpeeds = map[string]definition{
	"Samples per second":                     {"req/s", higher, "Samples that were answered, over the time of the test."},
	"Queries per second":                     {"req/s", higher, "Queries that were answered, over the time of the test."},
	"Scheduled samples per second":           {"req/s", neither, "Samples that were scheduled, over the time of the test: the load, and no result."},
	"Completed samples per second":           {"req/s", higher, "Samples that were answered, over the time of the test."},
	"Tokens per second":                      {"tok/s", higher, "Output tokens of all samples, over the time of the test."},
	"Completed tokens per second":            {"tok/s", higher, "Output tokens of answered samples, over the time of the test."},
	"QPS w/ loadgen overhead":                {"req/s", higher, "Queries a second with the time that LoadGen itself took."},
	"QPS w/o loadgen overhead":               {"req/s", higher, "Queries a second without the time that LoadGen itself took."},
	"Tokens per second (inferred)":           {"tok/s", higher, "Output tokens over the time of the test, inferred from the average length."},
	"Completed tokens per second (inferred)": {"tok/s", higher, "As the name says; inferred from the average length."},
}

// loadgenSummary is what the lines of a summary say.
type loadgenSummary struct {
	speeds []Metric
	// latencies are statistics in ms by name, order their names as they came.
	latencies map[string]map[string]float64
	order     []string
	// model and valid are two of the other lines, what are the first of each.
	model, valid string
	what         map[string]string
}

func readLoadGen(f *File, file, text string) error {
	sum := loadgenSummary{latencies: map[string]map[string]float64{}, what: map[string]string{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		m := loadgenLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		if err := sum.add(file, number, m[1], m[2]); err != nil {
			return err
		}
	}
	scenario := sum.what["Scenario"]
	if scenario == "" {
		return &Error{File: file, Says: "it names no Scenario: the summary was cut off, or is none"}
	}
	switch sum.valid {
	case "VALID":
	case "":
		return &Error{File: file, Says: `it does not say whether the "Result is" VALID: the summary was cut off`}
	default:
		f.note("LoadGen calls this result %s", sum.valid)
	}
	c := Cell{Name: strings.ToLower(strings.ReplaceAll(scenario, " ", "_")), What: sum.what, Metrics: sum.speeds}
	for _, name := range sum.order {
		c.Metrics = append(c.Metrics, loadgenLatencies[name].metric(name, sum.latencies[name]))
	}
	f.Model = sum.model
	f.note("latencies count from when a query was scheduled, and were in ns")
	f.Cells = append(f.Cells, c)
	return nil
}

// add takes one line: a speed, a statistic of a latency, or anything else.
func (sum *loadgenSummary) add(file string, line int, key, value string) error {
	speed, isSpeed := loadgenSpeeds[key]
	name, stat, isLatency := loadgenLatency(key)
	if !isSpeed && !isLatency {
		sum.say(key, value)
		return nil
	}
	x, err := loadgenNumber(file, line, key, value)
	if err != nil {
		return err
	}
	if isSpeed {
		sum.speeds = append(sum.speeds, speed.metric(strings.ToLower(word(key)), map[string]float64{"value": x}))
		return nil
	}
	if sum.latencies[name] == nil {
		sum.latencies[name] = map[string]float64{}
		sum.order = append(sum.order, name)
	}
	sum.latencies[name][stat] = x / 1e6
	return nil
}

func (sum *loadgenSummary) say(key, value string) {
	switch key {
	case "SUT name":
		sum.model = value
	case "Result is":
		sum.valid = value
	}
	if _, known := sum.what[key]; !known && len(sum.what) < 200 {
		sum.what[key] = value
	}
}

// loadgenLatency reads "99.90 percentile first token latency (ns)".
func loadgenLatency(key string) (name, stat string, ok bool) {
	for _, form := range loadgenStat {
		m := form.re.FindStringSubmatch(key)
		if m == nil {
			continue
		}
		name = strings.ToLower(strings.ReplaceAll(form.name(m), " ", "_"))
		_, ok = loadgenLatencies[name]
		return name, form.stat(m), ok
	}
	return "", "", false
}

func loadgenNumber(file string, line int, key, value string) (float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || x-x != 0 {
		return 0, &Error{File: file, Line: line, Path: key, Says: fmt.Sprintf("%q is no number", value)}
	}
	if x < 0 {
		return 0, &Error{File: file, Line: line, Path: key, Says: fmt.Sprintf(negative, x)}
	}
	return x, nil
}
