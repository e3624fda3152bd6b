package imported

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, name string) *File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(name, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Every format gives its cells, with the numbers of the file in mxflow's units.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		tool, version, model string
		cells                string
		stats                map[string]float64 // cell.metric.stat
		notes                []string
	}{
		"benchy.json": {
			"llama-benchy", "0.4.0", "tiny", "pp64_tg16_c1 pp64_tg16_d128_c4 pp64_tg16_d128_c4_context",
			map[string]float64{"pp64_tg16_c1.tg_throughput.mean": 50.5, "pp64_tg16_c1.ttfr.std": 1, "pp64_tg16_d128_c4.pp_throughput.mean": 11849},
			[]string{"generation", "divisor n", "pp64_tg16_d128_c4 also counts the context's tokens"},
		},
		"vllm.json": {
			"vLLM bench serve", "", "tiny", "r2_c8 rinf",
			map[string]float64{"r2_c8.request_goodput.value": 0.8, "r2_c8.ttft_ms.p99_9": 110, "r2_c8.ttft_ms.median": 90, "rinf.spec_decode_acceptance_rate.value": 61.5},
			[]string{"r2_c8: 3 of 4 requests were answered"},
		},
		"sglang.jsonl": {
			"SGLang bench_serving", "", "", "rinf_c16 r2_5",
			map[string]float64{"rinf_c16.ttft_ms.mean": 50, "rinf_c16.accept_length.value": 2.4, "r2_5.ttft_ms.median": 40},
			[]string{"the file counts 320 output tokens, but the text has 100"},
		},
		"llamabench.json": {
			"llama-bench", "abc1234", "tiny 1B Q4_0", "pp512_n_gpu_layers_99 tg128_d4096 pp512_n_gpu_layers_0",
			map[string]float64{"pp512_n_gpu_layers_99.ts.mean": 2000, "pp512_n_gpu_layers_99.ts.std": 10, "tg128_d4096.ts.mean": 50, "pp512_n_gpu_layers_0.ts.mean": 100},
			[]string{"divisor n − 1"},
		},
		"aiperf.json": {
			"AIPerf", "1.5", "", "concurrency_8",
			map[string]float64{"concurrency_8.time_to_first_token.mean": 51.5, "concurrency_8.time_to_first_token.p99": 60.5, "concurrency_8.output_token_throughput.mean": 640.5},
			nil,
		},
	} {
		f := read(t, name)
		var cells []string
		for _, cell := range f.Cells {
			cells = append(cells, cell.Name)
		}
		if f.Tool != c.tool || f.Version != c.version || f.Model != c.model || strings.Join(cells, " ") != c.cells {
			t.Errorf("%s: %q %q %q, cells %q", name, f.Tool, f.Version, f.Model, cells)
		}
		for address, want := range c.stats {
			parts := strings.Split(address, ".")
			m, ok := f.Lookup(parts[0], parts[1])
			if got, has := m.Stats[parts[2]]; !ok || !has || got != want {
				t.Errorf("%s: %s is %v (%v, %v), want %v", name, address, got, ok, has, want)
			}
			if m.Definition == "" {
				t.Errorf("%s: %s has no definition", name, address)
			}
		}
		for _, note := range c.notes {
			if !strings.Contains(strings.Join(f.Notes, "\n"), note) {
				t.Errorf("%s: no note says %q: %q", name, note, f.Notes)
			}
		}
	}
}

// A number that is not in the file is in no result: NaN and Infinity are absent.
func TestAbsentIsAbsent(t *testing.T) {
	m, _ := read(t, "sglang.jsonl").Lookup("rinf_c16", "ttft_ms")
	if _, there := m.Stats["p99"]; there {
		t.Error("a p99 of NaN was read as a number")
	}
	if _, there := read(t, "benchy.json").Lookup("pp64_tg16_c1", "peak_throughput"); there {
		t.Error("a metric of null was read")
	}
}

// What has no basis the tools write as zero, which would meet any limit and which
// anything beats: it is left out.
func TestNothingAnsweredIsNoResult(t *testing.T) {
	for name, text := range map[string]string{
		"vLLM":   `{"model_id": "m", "num_prompts": 4, "completed": 0, "failed": 4, "duration": 1.5, "total_input_tokens": 0, "output_throughput": 0.0, "mean_ttft_ms": 0.0, "p99_ttft_ms": 0}`,
		"SGLang": `{"dataset_name": "random", "completed": 0, "duration": 1.5, "total_input_tokens": 0, "output_throughput": 0.0, "mean_ttft_ms": 0.0, "concurrency": 0}`,
	} {
		f, err := Read("x.json", []byte(text), nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if m, there := f.Lookup("rinf", "completed"); !there || m.Stats["value"] != 0 {
			t.Errorf("%s: that none was answered is lost", name)
		}
		for _, zero := range []string{"output_throughput", "ttft_ms", "concurrency"} {
			if _, there := f.Lookup("rinf", zero); there {
				t.Errorf("%s: %s is a number", name, zero)
			}
		}
	}
}

// TestNoContent: answers without a token have no times and no speeds, and requests were
// answered all the same.
func TestNoContent(t *testing.T) {
	f, err := Read("x.json", []byte(`{"model_id": "m", "num_prompts": 4, "completed": 4, "failed": 0, "duration": 3.0, "total_input_tokens": 512, "total_output_tokens": 0, `+
		`"request_throughput": 1.3, "output_throughput": 0.0, "total_token_throughput": 170.7, "mean_ttft_ms": 0.0, "p99_ttft_ms": 0.0, "mean_tpot_ms": 0, "std_tpot_ms": 0, "mean_itl_ms": 0}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"request_throughput": true, "total_token_throughput": true, "total_output_tokens": true, "failed": true,
		"output_throughput": false, "ttft_ms": false, "tpot_ms": false, "itl_ms": false,
	} {
		if _, there := f.Lookup("rinf", name); there != want {
			t.Errorf("%s: there %v", name, there)
		}
	}
}

// TestAIPerf010: a version of its own, phases, and what went wrong.
func TestAIPerf010(t *testing.T) {
	f, err := Read("x.json", []byte(`{"schema_version": "1.3", "aiperf_version": "0.10.0", "request_latency": {"unit": "ms", "avg": 5000.0},
  "input_config": {"models": {"items": [{"name": "acme/model-a"}]},
    "phases": [{"name": "warmup", "concurrency": 2}, {"name": "profiling", "concurrency": 16, "request_rate": 0.8}]},
   "was_cancelled": true, "error_summary": [{"count": 2}, {"count": 1}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	what := f.Cells[0].What
	if f.Version != "0.10.0" || f.Model != "acme/model-a" || what["concurrency"] != "16" || what["request_rate"] != "0.8" {
		t.Errorf("%+v", f)
	}
	if notes := strings.Join(f.Notes, "\n"); !strings.Contains(notes, "was cancelled") || !strings.Contains(notes, "3 requests failed") {
		t.Errorf("%q", f.Notes)
	}
}

// Damaged files are refused as a whole, with the place and the remedy.
func TestDamaged(t *testing.T) {
	for name, c := range map[string]struct{ file, old, new, want string }{
		"cut off":          {"benchy.json", `"e2e_ttft": {"mean": 81, "std": 1, "values": [80, 82]}`, "", "benchy.json"},
		"a text":           {"benchy.json", `"mean": 800,`, `"mean": "800",`, `benchmarks[0].pp_throughput.mean: it is a text, not a number`},
		"no size":          {"benchy.json", `"prompt_size": 64, `, "", "benchmarks[0].prompt_size: it is missing"},
		"negative size":    {"benchy.json", `"concurrency": 1,`, `"concurrency": -1,`, "-1 is negative"},
		"another tool":     {"vllm.json", `{"date": "20261101-100100", `, `{"x":1}{"date": "20261101-100100", `, "it is not a result of vLLM"},
		"huge number":      {"vllm.json", `"duration": 2.5`, `"duration": 1e999`, "too large a number"},
		"nothing":          {"llamabench.json", `"n_gen": 128`, `"n_gen": 0`, "nothing was measured"},
		"aiperf text":      {"aiperf.json", `"p50": 50.5`, `"p50": [1]`, "time_to_first_token.p50: it is a list"},
		"not text":         {"vllm.json", "tiny", "t\xffny", "vllm.json: it is not UTF-8 text"},
		"unknown":          {"benchy.json", "latency_mode", "latency", `unknown format, with the keys ["benchmarks" "latency"`},
		"negative time":    {"vllm.json", `"mean_itl_ms": 20.0`, `"mean_itl_ms": -1`, "result 1.mean_itl_ms: -1 is negative, which times"},
		"negative count":   {"vllm.json", `"completed": 3`, `"completed": -3`, "completed: -3 is negative"},
		"negative std":     {"vllm.json", `"std_ttft_ms": 8.0`, `"std_ttft_ms": -8.0`, "std_ttft_ms: -8 is negative"},
		"negative speed":   {"sglang.jsonl", `"output_throughput": 106.7`, `"output_throughput": -106.7`, "output_throughput: -106.7 is negative"},
		"negative value":   {"benchy.json", `[790, 810]`, `[-790, 2390]`, "benchmarks[0].pp_throughput.values[0]: -790 is negative"},
		"negative sample":  {"llamabench.json", `"stddev_ts": 10.0`, `"stddev_ts": -10.0`, "stddev_ts: -10 is negative"},
		"negative aiperf":  {"aiperf.json", `"p50": 50.5`, `"p50": -50.5`, "time_to_first_token.p50: -50.5 is negative"},
		"steers terminals": {"aiperf.json", `"p50": 50.5`, `"\u001b[31mp50": [1]`, "time_to_first_token.�[31mp50: it is a list"},
		"another document": {"benchy.json", `"version": "0.4.0",`, `"version": "0.4.0"} {`, ""},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if !strings.Contains(text, c.old) {
			t.Fatalf("%s: %s has no %q", name, c.file, c.old)
		}
		text = strings.Replace(text, c.old, c.new, 1)
		if name == "cut off" {
			text = text[:len(text)/2]
		}
		f, err := Read(c.file, []byte(text), nil)
		if err == nil || f != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, empty := range []string{"", " \n", "{}", "[]", "null", `{"benchmarks": [], "latency_mode": "api"}`, `{"build_commit": "a", "n_prompt": 8, "n_gen": 0, "avg_ts": 1, "stddev_ts": 0}`} {
		if f, err := Read("x", []byte(empty), nil); err == nil {
			t.Errorf("%q was read as %+v", empty, f)
		}
	}
}

// The real results beside the project, if there are any: folders of engines' logs and of
// what GPUs and profilers report hold none, and of llama-bench and AIPerf one format is
// read.
func TestSamples(t *testing.T) {
	files, _ := filepath.Glob("../../../../shared/samples/*/*")
	n := 0
	for _, path := range files {
		switch dir := filepath.Base(filepath.Dir(path)); {
		case dir == "engine-logs", strings.HasPrefix(dir, "nvidia-"), strings.HasSuffix(path, "schema.json") && dir == "llama-benchy",
			dir == "llama-bench" && filepath.Ext(path) != ".json", dir == "aiperf" && !strings.HasSuffix(path, "profile_export_aiperf.json"):
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if _, err := Read(path, data, nil); err != nil {
			t.Error(err)
		}
	}
	if n == 0 {
		t.Skip("no samples lie beside the project")
	}
}

// Plausible output of a tool is read: a spread of 0, an unknown number below it; and names that rules cannot use,
// or that control a terminal, are changed.
func TestPlausible(t *testing.T) {
	f, err := Read("x.json", []byte(`{"schema_version": "1",
 "request_latency": {"unit": "ms", "avg": 10.0000000001, "min": 10, "max": 10, "std": 0},
 "usage_diff": {"unit": "%", "avg": -2.5},
 "made.up\u001b[2J": {"unit": "\u001b[31mms", "avg": 1, "p\u0007x": 2, "p.x": 3},
 "made_up_[2J": {"unit": "ms", "avg": 4}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read("x", data, nil)
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
