package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// vllmPage is the part of a page of vLLM that matters, with what surrounds it.
const vllmPage = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
# TYPE vllm:gpu_cache_usage_perc gauge
vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.25
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} 2.0
# TYPE vllm:num_preemptions_created gauge
vllm:num_preemptions_created{engine="0",model_name="m"} 1.7e+09
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_bucket{engine="0",le="0.3",model_name="m"} 5.0
vllm:request_queue_time_seconds_bucket{engine="0",le="+Inf",model_name="m"} 7.0
vllm:request_queue_time_seconds_count{engine="0",model_name="m"} 7.0
vllm:request_queue_time_seconds_sum{engine="0",model_name="m"} 1.5
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 1615.0
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 600.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 400.0
`

var vllmNames = map[string][]string{
	"running": {"vllm:num_requests_running"}, "kv_cache_usage": {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
	"preemptions": {"vllm:num_preemptions_total"}, "queue_time_sum": {"vllm:request_queue_time_seconds_sum"},
	"queue_time_count": {"vllm:request_queue_time_seconds_count"}, "spec_accepted_tokens": {"vllm:spec_decode_num_accepted_tokens_total"},
	"spec_accepted_per_pos": {"vllm:spec_decode_num_accepted_tokens_per_pos_total"}, "waiting": {"vllm:num_requests_waiting"},
	"spec_draft_tokens": {"vllm:spec_decode_num_draft_tokens_total"}, "corrupted_requests": {"vllm:corrupted_requests_total"},
}

// linesOf are the series of pages that were read a second apart, by name and
// source.
func linesOf(t *testing.T, names map[string][]string, pages ...string) (map[string][]float64, []string) {
	t.Helper()
	p := newPageLines(names)
	zero := time.Now()
	for i, page := range pages {
		lines, err := p.read([]byte(page))
		if err != nil {
			t.Fatalf("page %d: %v", i, err)
		}
		p.keep(zero.Add(time.Duration(i)*time.Second), lines)
	}
	tp := newTape(zero)
	p.put(tp)
	out := map[string][]float64{}
	series, _ := tp.done()
	sound(t, series)
	for _, s := range series {
		out[s.Name+" "+s.Source] = s.Value
	}
	return out, p.absent()
}

func TestPageLines(t *testing.T) {
	got, absent := linesOf(t, vllmNames, vllmPage, strings.ReplaceAll(vllmPage, "600.0", "650"))
	want := map[string][]float64{
		"engine.running ": {3, 3}, "engine.kv_cache_usage ": {0.25, 0.25}, "engine.preemptions ": {2, 2}, "engine.queue_time_sum ": {1.5, 1.5},
		"engine.queue_time_count ": {7, 7}, "engine.spec_accepted_tokens ": {1615, 1615},
		`engine.spec_accepted_per_pos position="0"`: {600, 650}, `engine.spec_accepted_per_pos position="1"`: {400, 400},
	}
	for name, values := range want {
		if !slices.Equal(got[name], values) {
			t.Errorf("%s is %v, want %v", name, got[name], values)
		}
	}
	if len(got) != len(want) || !slices.Equal(absent, []string{"waiting"}) {
		t.Errorf("got %v; absent %v", got, absent)
	}

	names := map[string][]string{"hits": {"e:hits_total"}, "tokens": {"e:tokens"}, "use": {"e:use", "e:old_use"}}
	for _, test := range []struct {
		name  string
		pages []string
		want  string
	}{
		{"without _total", []string{"e:hits 1\n"}, "engine.hits =[1]"},
		{"with _total", []string{"e:tokens_total 1\n"}, "engine.tokens =[1]"},
		{"ranks", []string{"e:use{tp=\"0\",m=\"x\"} 1\ne:use{tp=\"1\",m=\"x\"} 2\n"}, `engine.use tp="0"=[1] engine.use tp="1"=[2]`},
		{"a line that comes later", []string{"e:use{tp=\"0\"} 1\n", "e:use{tp=\"0\"} 2\ne:use{tp=\"1\"} 3\n"}, `engine.use tp="0"=[1 2] engine.use tp="1"=[3]`},
		{"one position", []string{"e:use{position=\"0\",m=\"x\"} 1\n"}, `engine.use position="0"=[1]`},
		{"the newest name", []string{"e:old_use 1\ne:use 2\n"}, "engine.use =[2]"},
		{"a name is kept to", []string{"e:old_use 1\n", "e:old_use 2\ne:use 9\n"}, "engine.use =[1 2]"},
		{"no number", []string{"e:use NaN\n", "e:use +Inf\n", "e:use 3 1700000000000\n"}, "engine.use =[3]"},
		{"no line end", []string{"e:use 3"}, "engine.use =[3]"},
		{"other lines", []string{"e:use_created 3\ne:used 4\nbroken {\ne:use 5\n"}, "engine.use =[5]"},
		{"nothing yet", []string{"", "# TYPE e:x gauge\ne:x 1\n"}, ""},
	} {
		got, _ := linesOf(t, names, test.pages...)
		var words []string
		for name, values := range got {
			words = append(words, fmt.Sprintf("%s=%v", name, values))
		}
		slices.Sort(words)
		if strings.Join(words, " ") != test.want {
			t.Errorf("%s: %q, want %q", test.name, words, test.want)
		}
	}
	for _, bad := range []string{"<html><body>busy</body></html>", `{"running": 1}`, "e:use\n", "e:use{ 1\n", "e:use one\n"} {
		if lines, err := newPageLines(names).read([]byte(bad)); err == nil {
			t.Errorf("%q: %v", bad, lines)
		}
	}
}

func FuzzPage(f *testing.F) {
	f.Add(vllmPage)
	f.Add("vllm:num_requests_running{a=\"\\n\",b=\"}\"} 1e309 5\n# EOF\n")
	f.Fuzz(func(t *testing.T, page string) {
		p := newPageLines(vllmNames)
		lines, err := p.read([]byte(page))
		if err != nil {
			return
		}
		for _, l := range lines {
			if !p.wanted[l.name] {
				t.Errorf("%q was not wanted", l.name)
			}
		}
		p.keep(time.Now(), lines)
		p.put(newTape(time.Now()))
	})
}

// A server whose labels change with every page must not have every value kept
// apart, nor be added up from the part that was.
func TestPageWithEverOtherLabels(t *testing.T) {
	names := map[string][]string{"running": {"e:running"}, "waiting": {"e:waiting"}}
	p := newPageLines(names)
	zero := time.Now()
	for i := range maxLines + 10 {
		lines, err := p.read(fmt.Appendf(nil, "e:running{id=\"%d\"} 1\ne:waiting{id=\"1\"} %d\n", i, i))
		if err != nil {
			t.Fatal(err)
		}
		p.keep(zero.Add(time.Duration(i)*time.Second), lines)
	}
	tp := newTape(zero)
	p.put(tp)
	series, notes := tp.done()
	if len(series) != 1 || len(find(series, "engine.waiting", "").Value) != maxLines+10 || len(p.values["running"]) > maxLines {
		t.Errorf("%d series, %d lines", len(series), len(p.values["running"]))
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "different lines of running") {
		t.Errorf("notes %q", notes)
	}
	page := strings.Repeat("e:running{id=\"1\"} 1\n", 2*maxLines+1)
	if _, err := p.read([]byte(page)); err == nil || !strings.Contains(err.Error(), "lines of known metrics") {
		t.Errorf("a page of too many lines: %v", err)
	}
}
