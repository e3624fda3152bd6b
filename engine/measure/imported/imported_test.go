package imported

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func read(t *testing.T, name string) *File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	must.Do(t, err)
	f, err := Read(name, data, nil, false)
	must.Do(t, err)
	return f
}

// samples are the result files in testdata.
func samples() []string {
	files, _ := filepath.Glob("testdata/*.json*")
	return slices.DeleteFunc(files, func(path string) bool { return path == filepath.Join("testdata", "numbers.json") })
}

// Every format gives the cells of its sample, of which tool, version and model; TestNumbers has the numbers.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		tool, version, model, cells string
		notes                       []string
	}{
		"benchy.json": {
			"llama-benchy", "0.4.0", "tiny", "pp64_tg16_c1 pp64_tg16_d128_c4 pp64_tg16_d128_c4_context",
			[]string{"generation", "divisor n", "pp64_tg16_d128_c4 also counts the context's tokens"},
		},
		"vllm.json": {
			"vLLM bench serve", "", "tiny", "r2_c8 rinf r1",
			[]string{"r2_c8: 3 of 4 requests were answered"},
		},
		"sglang.jsonl": {
			"SGLang bench_serving", "", "", "rinf_c16 r2_5",
			[]string{"the file counts 320 output tokens, but the text has 100"},
		},
		"llamabench.json": {
			"llama-bench", "abc1234", "tiny 1B Q4_0", "pp512_n_gpu_layers_99 tg128_d4096 pp512_n_gpu_layers_0",
			[]string{"divisor n − 1"},
		},
		"aiperf.json": {"AIPerf", "1.5", "", "concurrency_8", nil},
		"llama-batched-bench.jsonl": {
			"llama-batched-bench", "", "", "pp128_tg32_b1 pp128_tg32_b4_flash_attn_0 pp128_tg32_b4_flash_attn_1", nil,
		},
		"vllm-latency.json":    {"vLLM bench latency", "", "", "all", nil},
		"vllm-throughput.json": {"vLLM bench throughput", "", "", "all", nil},
		"sglang-one-batch.jsonl": {
			"SGLang bench_one_batch", "", "", "b1_pp256_tg16 b8_pp256_tg16 b16_pp256_tg16 b1_pp256_tg1", nil,
		},
		"aiperf-aggregate.json": {
			"AIPerf, several runs", "0.11.0", "", "runs",
			[]string{"4 of 5 runs succeeded, so a rule that reads it is inconclusive"},
		},
		"genai-perf.json": {"GenAI-Perf", "", "acme/model-a", "all", nil},
		"guidellm.json": {
			"GuideLLM", "0.7.3", "acme/model-a", "concurrent_c4 constant_r2_5",
			[]string{"1 requests failed and 2 were cut off"},
		},
		"inference-perf.json": {"inference-perf", "", "", "r5", []string{"2 requests failed"}},
		"lm-eval.json": {
			"lm-evaluation-harness", "0.4.12", "acme/model-a",
			"gsm8k_filter_flexible_extract gsm8k_filter_strict_match hellaswag mmlu mmlu_stem", nil,
		},
		"lm-eval-samples.jsonl": {
			"lm-evaluation-harness, samples", "", "", "questions_filter_flexible_extract questions_filter_strict_match",
			nil,
		},
		"trtllm-bench.json": {"trtllm-bench", "1.1.0", "acme/model-a", "pp128_tg64", nil},
	} {
		f := read(t, name)
		var cells []string
		for _, cell := range f.Cells {
			cells = append(cells, cell.Name)
			for _, m := range cell.Metrics {
				if m.Definition == "" {
					t.Errorf("%s: %s has no definition", name, m.Name)
				}
			}
		}
		if f.Tool != c.tool || f.Version != c.version || f.Model != c.model || strings.Join(cells, " ") != c.cells {
			t.Errorf("%s: %q %q %q, cells %q", name, f.Tool, f.Version, f.Model, cells)
		}
		for _, note := range c.notes {
			if !strings.Contains(strings.Join(f.Notes, "\n"), note) {
				t.Errorf("%s: no note says %q: %q", name, note, f.Notes)
			}
		}
	}
}

// The numbers of each sample are those that a script reads, which knows the tools and not the programs:
// load by load, metrics, statistics and numbers are the same, with nothing more and nothing less.
// "python3 numbers.py > numbers.json", in testdata, makes the file.
func TestNumbers(t *testing.T) {
	text, err := os.ReadFile("testdata/numbers.json")
	must.Do(t, err)
	var numbers map[string][][4]any // load, metric, statistic, number
	must.Do(t, json.Unmarshal(text, &numbers))
	for _, path := range samples() {
		name := filepath.Base(path)
		wants, gots := map[any][]string{}, map[any][]string{}
		for _, row := range numbers[name] {
			wants[row[0]] = append(wants[row[0]], fmt.Sprint(row[1], " ", row[2], " ", row[3]))
		}
		for _, c := range read(t, name).Cells {
			for _, m := range c.Metrics {
				for stat, v := range m.Stats {
					gots[c.Name] = append(gots[c.Name], fmt.Sprint(m.Name, " ", stat, " ", v))
				}
			}
		}
		// Loads have names of their own here and there, so they are compared by their numbers.
		loads := func(of map[any][]string) (all []string) {
			for _, rows := range of {
				all = append(all, strings.Join(slices.Sorted(slices.Values(rows)), "\n"))
			}
			slices.Sort(all)
			return all
		}
		if got, want := loads(gots), loads(wants); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: read\n%s\nand the script\n%s", name, strings.Join(got, "\n\n"), strings.Join(want, "\n\n"))
		}
	}
}

// A number that is not in the file is in no result: NaN and null are absent, and so is what has no
// basis, which tools write as zero: it would meet any limit, and anything would beat it.
func TestAbsentIsAbsent(t *testing.T) {
	file := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		must.Do(t, err)
		return string(text)
	}
	for name, c := range map[string]struct{ file, text, load, there, absent string }{
		"NaN":  {"sglang.jsonl", file("sglang.jsonl"), "rinf_c16", "ttft_ms.mean", "ttft_ms.p99"},
		"null": {"benchy.json", file("benchy.json"), "pp64_tg16_c1", "pp_throughput.mean", "peak_throughput.mean"},
		"none answered, vLLM": {
			"x.json",
			`{"model_id": "m", "num_prompts": 4, "completed": 0, "failed": 4, "duration": 1.5, "total_input_tokens": 0,
				"output_throughput": 0.0, "mean_ttft_ms": 0.0, "p99_ttft_ms": 0}`,
			"rinf", "completed.value", "output_throughput.value ttft_ms.mean ttft_ms.p99 concurrency.value",
		},
		"none answered, SGLang": {
			"x.json", `{"dataset_name": "random", "completed": 0, "duration": 1.5, "total_input_tokens": 0,
				"output_throughput": 0.0, "mean_ttft_ms": 0.0, "concurrency": 0}`,
			"rinf", "completed.value", "output_throughput.value ttft_ms.mean concurrency.value",
		},
		// Answers without a token have no times and no speeds, and requests were answered all the same.
		"no content": {
			"x.json", `{"model_id": "m", "num_prompts": 4, "completed": 4, "failed": 0, "duration": 3.0,
				"total_input_tokens": 512, "total_output_tokens": 0, "request_throughput": 1.3, "output_throughput": 0.0, "total_token_throughput": 170.7,
				"mean_ttft_ms": 0.0, "p99_ttft_ms": 0.0, "mean_tpot_ms": 0, "std_tpot_ms": 0, "mean_itl_ms": 0}`,
			"rinf", "request_throughput.value total_token_throughput.value total_output_tokens.value failed.value",
			"output_throughput.value ttft_ms.mean ttft_ms.p99 tpot_ms.mean tpot_ms.std itl_ms.mean",
		},
	} {
		f, err := Read(c.file, []byte(c.text), nil, false)
		must.Do(t, err)
		for _, address := range append(strings.Fields(c.there), strings.Fields(c.absent)...) {
			metric, stat, _ := strings.Cut(address, ".")
			m, _ := f.Lookup(c.load, metric)
			_, has := m.Stats[stat]
			if has != slices.Contains(strings.Fields(c.there), address) {
				t.Errorf("%s: %s is there: %v, of %+v", name, address, has, m.Stats)
			}
		}
	}
}

// Of whichever version, AIPerf says what was run, and what went wrong.
func TestAIPerfVersions(t *testing.T) {
	f, err := Read("x.json",
		[]byte(`{"schema_version": "1.3", "aiperf_version": "0.10.0", "request_latency": {"unit": "ms", "avg": 5000.0},
  "input_config": {"models": {"items": [{"name": "acme/model-a"}]},
    "phases": [{"name": "warmup", "concurrency": 2}, {"name": "profiling", "concurrency": 16, "request_rate": 0.8}]},
   "was_cancelled": true, "error_summary": [{"count": 2}, {"count": 1}]}`), nil, false)
	must.Do(t, err)
	what := f.Cells[0].What
	if f.Version != "0.10.0" || f.Model != "acme/model-a" || what["concurrency"] != "16" ||
		what["request_rate"] != "0.8" {
		t.Errorf("%+v", f)
	}
	if notes := strings.Join(f.Notes, "\n"); !strings.Contains(notes, "was cancelled") ||
		!strings.Contains(notes, "3 requests failed") {
		t.Errorf("%q", f.Notes)
	}
	f, err = Read("x.json", []byte(`{"aiperf_version": "0.4.0", "request_latency": {"unit": "ms", "avg": 5000.0},
  "input_config": {"endpoint": {"model_names": ["acme/model-a"]}, "loadgen": {"concurrency": 8}},
  "runtime_submission_invalid_reasons": ["context_overflow"]}`), nil, false)
	must.Do(t, err)
	if invalid := f.Cells[0].Metrics[0].Invalid; f.Model != "acme/model-a" || f.Cells[0].What["concurrency"] != "8" ||
		!strings.Contains(invalid, "no valid submission (context_overflow)") {
		t.Errorf("%q, %+v", invalid, f)
	}
}

// Each tool's file is recognised by one program, and a file of one's own by none.
func TestOneFormatKnows(t *testing.T) {
	files := samples()
	var tools []string
	for _, f := range Formats() {
		tools = append(tools, f.Name+" ("+f.Written+")")
	}
	if !slices.Equal(tools, Tools()) {
		t.Errorf("named %q, and compiled %q", Tools(), tools)
	}
	if len(files) <= len(Formats())-1 {
		t.Errorf("%d files for %d formats", len(files), len(Formats()))
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		must.Do(t, err)
		var knows []string
		for _, f := range Formats() {
			alone := slices.DeleteFunc(slices.Clone(Formats()), func(o *Format) bool { return o != f })
			if _, _, err := open(path, data, nil, alone); err == nil {
				knows = append(knows, f.Name)
			}
		}
		if len(knows) != 1 {
			t.Errorf("%s is a result of %q", path, knows)
		}
	}
	for _, text := range []string{
		`{"schema_version": 3, "name": "acme", "steps": [{"tok_s": 41.5}]}`,
		`{"schema_version": "2", "tool": "acme-bench", "cells": [], "latency": {"unit": "ms", "avg": 12.0}, "ok": true}`,
		`{"schema_version": "1.1", "aiperf_version": "0.11.0", "data": [{"metrics": {"request_latency": 5}}]}`,
		`{"benchmarks": []}`, `{"results": {}}`, `{"results": {"a": 1}}`, `{"metrics": {}, "metadata": {}}`,
		`{"schema_version": "1.5"}`, `[1]`,
	} {
		if f, err := Read("x.json", []byte(text), nil, false); err == nil ||
			!strings.Contains(err.Error(), "unknown format") {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
	}
}

// A program of one's own makes rows that are checked like all.
func TestOwnProgram(t *testing.T) {
	file := []byte(`{"runs": [{"name": "a", "tok_s": 41.5, "aborted": true}, {"name": "b", "tok_s": 20, "temp": -5}]}`)
	for program, want := range map[string]string{
		`.runs[] | {workload: .name, metric: "tg", value: .tok_s, unit: "tok/s"}`:        "",
		`.runs[] | {workload: .name, metric: "temp", value: (.temp // 1), signed: true}`: "",
		`.runs[] | {workload: .name, metric: "temp", value: (.temp // 1)}`:               "runs[1].temp: -5 is negative",
		`{metric: "x", value: nan}`:               "not finite",
		`{metric: "x", value: infinite}`:          "not finite",
		`{metric: "x", value: "1"}`:               "a text, not a number",
		`{metric: "x", value: {}}`:                "x has no number",
		`{metric: "x", value: 1, values: 3}`:      "not a list",
		`{metric: "x", value: 1, notes: 3}`:       "notes",
		`{metric: "x", value: 1, what: 3}`:        "what",
		`{metric: "x", value: 1, n: "3"}`:         "n is",
		`{value: 1}`:                              "no metric",
		`{metric: 3, value: 1}`:                   "no metric",
		`{metric: "x", value: 1, better: "more"}`: `better "more"`,
		`empty`:                            "it has no results",
		`1`:                                "row 1 of the jq program is a number",
		`null`:                             "row 1 of the jq program is nothing",
		`error("no")`:                      "no",
		`"no" | halt_error`:                ": no",
		`halt`:                             "ended without a reason",
		`env.HOME | {metric: ., value: 1}`: "no metric",
	} {
		f, err := ParseFormat("x.jq", program)
		if err != nil {
			t.Fatal(program, err)
		}
		got, err := Read("x.json", file, f, true)
		if want == "" && (err != nil || got == nil) || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", program, err, want)
		}
	}
	for _, program := range []string{"", ".[", "nothing", `import "a" as a; .`} {
		if _, err := ParseFormat("x.jq", program); err == nil {
			t.Errorf("%q is a program", program)
		}
	}
	f, err := ParseFormat("x.jq",
		`.runs[] | {workload: .name, metric: "tg", value: .tok_s, invalid: (if .aborted then "it was aborted" else null end)}`)
	must.Do(t, err)
	got, err := Read("x.json", file, f, true)
	must.Do(t, err)
	a, _ := got.Lookup("a", "tg")
	b, _ := got.Lookup("b", "tg")
	if a.Invalid != "it was aborted" || b.Invalid != "" {
		t.Errorf("%+v, %+v", a, b)
	}
	if !slices.Equal(got.NotRead, []string{"runs.temp"}) {
		t.Errorf("not read: %q", got.NotRead)
	}
}

// Damaged files are refused as a whole, with the place and the remedy.
func TestDamaged(t *testing.T) {
	for name, c := range map[string]struct{ file, old, new, want string }{
		"cut off": {
			"benchy.json", `"e2e_ttft": {"mean": 81, "std": 1, "values": [80, 82]}`,
			"", "benchy.json",
		},
		"a text": {
			"benchy.json", `"mean": 800,`, `"mean": "800",`,
			`benchmarks[0].pp_throughput.mean: it is a text, not a number`,
		},
		"no size":       {"benchy.json", `"prompt_size": 64, `, "", "benchmarks[0].prompt_size: it is missing"},
		"negative size": {"benchy.json", `"concurrency": 1,`, `"concurrency": -1,`, "-1 is negative"},
		"another tool": {
			"vllm.json", `{"date": "20261101-100100", `, `{"x":1}{"date": "20261101-100100", `,
			"it is not a result of vLLM",
		},
		"huge number": {"vllm.json", `"duration": 2.5`, `"duration": 1e999`, "too large a number"},
		"nothing":     {"llamabench.json", `"n_gen": 128`, `"n_gen": 0`, "nothing was measured"},
		"aiperf text": {"aiperf.json", `"p50": 50.5`, `"p50": [1]`, "time_to_first_token.p50: it is a list"},
		"not text":    {"vllm.json", "tiny", "t\xffny", "vllm.json: it is not UTF-8 text"},
		"unknown": {
			"benchy.json", "latency_mode", "latency",
			`unknown format, with the keys ["benchmarks" "latency"`,
		},
		"negative time": {
			"vllm.json", `"mean_itl_ms": 20.0`, `"mean_itl_ms": -1`,
			"result 1.mean_itl_ms: -1 is negative, which times",
		},
		"negative count": {"vllm.json", `"completed": 3`, `"completed": -3`, "completed: -3 is negative"},
		"negative std":   {"vllm.json", `"std_ttft_ms": 8.0`, `"std_ttft_ms": -8.0`, "std_ttft_ms: -8 is negative"},
		"negative speed": {
			"sglang.jsonl", `"output_throughput": 106.7`, `"output_throughput": -106.7`,
			"output_throughput: -106.7 is negative",
		},
		"negative value": {
			"benchy.json", `[790, 810]`, `[-790, 2390]`,
			"benchmarks[0].pp_throughput.values[0]: -790 is negative",
		},
		"negative sample": {
			"llamabench.json", `"stddev_ts": 10.0`, `"stddev_ts": -10.0`,
			"stddev_ts: -10 is negative",
		},
		"negative aiperf": {
			"aiperf.json", `"p50": 50.5`, `"p50": -50.5`,
			"time_to_first_token.p50: -50.5 is negative",
		},
		"steers terminals": {
			"aiperf.json", `"p50": 50.5`, `"\u001b[31mp50": [1]`,
			"time_to_first_token.�[31mp50: it is a list",
		},
		"another document": {"benchy.json", `"version": "0.4.0",`, `"version": "0.4.0"} {`, ""},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", c.file))
		must.Do(t, err)
		text := string(data)
		if !strings.Contains(text, c.old) {
			t.Fatalf("%s: %s has no %q", name, c.file, c.old)
		}
		text = strings.Replace(text, c.old, c.new, 1)
		if name == "cut off" {
			text = text[:len(text)/2]
		}
		f, err := Read(c.file, []byte(text), nil, false)
		if err == nil || f != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, empty := range []string{
		"", " \n", "{}", "[]", "null", `{"benchmarks": [], "latency_mode": "api"}`,
		`{"build_commit": "a", "n_prompt": 8, "n_gen": 0, "avg_ts": 1, "stddev_ts": 0}`,
	} {
		if f, err := Read("x", []byte(empty), nil, false); err == nil {
			t.Errorf("%q was read as %+v", empty, f)
		}
	}
}

// Plausible output of a tool is read: a spread of 0, an unknown number below it; and names that rules cannot use,
// or that control a terminal, are changed.
func TestPlausible(t *testing.T) {
	f, err := Read("x.json", []byte(`{"schema_version": "1",
 "request_latency": {"unit": "ms", "avg": 10.0000000001, "min": 10, "max": 10, "std": 0},
 "usage_diff": {"unit": "%", "avg": -2.5},
 "made.up\u001b[2J": {"unit": "\u001b[31mms", "avg": 1, "p\u0007x": 2, "p.x": 3},
 "made_up_[2J": {"unit": "ms", "avg": 4}}`), nil, false)
	must.Do(t, err)
	for address, want := range map[string]float64{
		"all.request_latency.std": 0, "all.usage_diff.mean": -2.5,
		"all.made_up__2J.mean": 1, "all.made_up__2J.p_x": 2, "all.made_up__2J.p_x_2": 3, "all.made_up__2J_2.mean": 4,
	} {
		parts := strings.Split(address, ".")
		m, _ := f.Lookup(parts[0], parts[1])
		if got, ok := m.Stats[parts[2]]; !ok || got != want {
			t.Errorf("%s is %v (%v), want %v, of %+v", address, got, ok, want, f.Cells)
		}
		if strings.ContainsRune(m.Unit, 27) {
			t.Errorf("%s has the unit %q", address, m.Unit)
		}
	}
}

var word = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*")
	for _, path := range files {
		data, err := os.ReadFile(path)
		must.Do(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read("x", data, nil, false)
		if (file == nil) == (err == nil) {
			t.Fatalf("a file and an error, or neither: %v, %v", file, err)
		}
		if err != nil {
			return
		}
		for _, c := range file.Cells {
			for _, m := range c.Metrics {
				for stat, v := range m.Stats {
					if !word.MatchString(m.Name) || !word.MatchString(stat) {
						t.Errorf("%q.%q is no address", m.Name, stat)
					}
					if v-v != 0 {
						t.Errorf("%s.%s.%s is %v", c.Name, m.Name, stat, v)
					}
				}
			}
		}
	})
}
