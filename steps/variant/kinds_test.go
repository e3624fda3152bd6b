package variant

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/decide"
)

// enginesOnly is a registry that knows engines and nothing else.
func enginesOnly() *plans.Registry {
	r := &plans.Registry{}
	Register(r)
	return r
}

// specOf resolves the only engine of a plan, every knob at its default.
func specOf(t *testing.T, src string) engine.Spec {
	t.Helper()
	res := load.Bytes("plan.hcl", []byte("plan \"p\" {}\n"+src), enginesOnly(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	knobs := map[string]string{}
	for _, k := range res.Plan.Knobs {
		knobs[k.Name] = k.Default
	}
	e := res.Plan.Engines[0]
	l := &Resolver{Plan: res.Plan}
	d, err := l.draft(e, decide.Arm{Knobs: knobs})
	must.Do(t, err)
	spec, err := l.spec(d)
	must.Do(t, err)
	return spec
}

func TestKindsResolve(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("there is no home folder: ", err)
	}
	tests := map[string]struct{ src, command, env, config, model, path string }{
		"vllm": {
			`engine "vllm" "e" {
			  model    = "openai/gpt-oss-20b"
			  settings = { max_num_seqs = 2, enforce_eager = true, speculative = { method = "ngram", num_speculative_tokens = 3 } }
			}`,
			`vllm serve openai/gpt-oss-20b --host 127.0.0.1 --port {port} --max-num-seqs 2 --enforce-eager --speculative-config {"method":"ngram","num_speculative_tokens":3}`, "", "", "openai/gpt-oss-20b", "",
		},
		"a knob's settings": {
			`engine "sglang" "e" {
			  model    = "m"
			  settings = { enable_prefix_caching = true }
			}
			knob "cache" {
			  default = "off"
			  value "off" { settings = { enable_prefix_caching = false } }
			  value "on" {}
			}`,
			"python3 -m sglang.launch_server --model-path m --host 127.0.0.1 --port {port} --disable-radix-cache",
			"", "", "m", "",
		},
		"a file in the home folder": {
			`engine "llamacpp" "e" { model = "~/models/x.gguf" }`,
			"llama-server -m " + filepath.Join(home, "models/x.gguf") + " --host 127.0.0.1 --port {port}",
			"LLAMA_ARG_LOG_VERBOSITY=4", "", "", filepath.Join(home, "models/x.gguf"),
		},
		"a name of its own": {
			`engine "llamacpp" "e" {
			  model    = "x.gguf"
			  settings = { served_model_name = "x", log_verbosity = 5 }
			  env      = { LLAMA_ARG_LOG_VERBOSITY = "3" }
			}`,
			"llama-server -m x.gguf --host 127.0.0.1 --port {port} --alias x -lv 5", "LLAMA_ARG_LOG_VERBOSITY=3",
			"", "x", "x.gguf",
		},
		"a configuration file": {
			`engine "trtllm" "e" {
			  model    = "m"
			  settings = { enforce_eager = true, kv_cache_dtype = "fp8" }
			}`,
			"trtllm-serve m --host 127.0.0.1 --port {port} --extra_llm_api_options {config}", "",
			"llm_args.yaml: cuda_graph_config: null; kv_cache_config:;     dtype: fp8", "m", "",
		},
		"settings in the environment": {
			`engine "ollama" "e" {
			  model    = "gpt-oss:20b"
			  settings = { max_model_len = 8192 }
			}`,
			"ollama serve", "OLLAMA_CONTEXT_LENGTH=8192 OLLAMA_HOST=127.0.0.1:{port} OLLAMA_KEEP_ALIVE=-1", "",
			"gpt-oss:20b", "",
		},
		"a command of the plan's": {
			`engine "openai" "own" {
			  model = "m"
			  process { command = ["serve", "{model}", "--at", "{host}:{port}"] }
			}`,
			"serve m --at 127.0.0.1:{port}", "", "", "m", "",
		},
	}
	for name, tc := range tests {
		spec := specOf(t, tc.src)
		var env []string
		for _, key := range slices.Sorted(maps.Keys(spec.Env)) {
			env = append(env, key+"="+spec.Env[key])
		}
		config := ""
		if spec.Config != nil {
			config = spec.ConfigName + ": " + strings.ReplaceAll(strings.TrimSpace(string(spec.Config)), "\n", "; ")
		}
		got := fmt.Sprintf("%q %q %q model %q at %q", strings.Join(spec.Command, " "), strings.Join(env, " "), config,
			spec.Model, spec.ModelPath)
		want := fmt.Sprintf("%q %q %q model %q at %q", tc.command, tc.env, tc.config, tc.model, tc.path)
		must.Equal(t, name, got, want)
	}
}

func TestExamplesOfKindsAreValid(t *testing.T) {
	for _, k := range kinds.All() {
		res := load.Bytes("plan.hcl", []byte("plan \"p\" {}\n"+k.Example), enginesOnly(), load.Options{})
		if !res.OK() {
			t.Errorf("%s: %v\n%s", k.Name, res.Diagnostics.Errs(), k.Example)
		}
	}
}

// In a container an engine listens on all of its addresses, and gets what its
// image needs.
func TestKindsResolveInContainers(t *testing.T) {
	for _, k := range kinds.All() {
		if k.Image == "" {
			continue
		}
		spec := specOf(t,
			fmt.Sprintf("engine %q \"e\" {\n model = \"/models/m.gguf\"\n docker {\n gpus = \"all\"\n }\n}", k.Name))
		words := strings.Join(spec.Command, " ")
		for _, value := range spec.Env {
			words += " " + value
		}
		if spec.Docker == nil || spec.Docker.Image != k.Image || !strings.Contains(words, "0.0.0.0") ||
			!strings.Contains(words, "{port}") || spec.ModelPath != "" {
			t.Errorf("%s: %v %v at %q", k.Name, spec.Docker, words, spec.ModelPath)
		}
		if c := k.Container; spec.Docker != nil && (spec.Docker.IPC != c.IPC || spec.Docker.ShmSize != c.ShmSize ||
			!maps.Equal(spec.Docker.Ulimits, c.Ulimits)) {
			t.Errorf("%s: the container is %+v, want %+v", k.Name, *spec.Docker, c)
		}
	}
}

// TestSettingsOutOfRange: what an engine would refuse when it is started, the plan does.
func TestSettingsOutOfRange(t *testing.T) {
	embedded := func(settings string) string {
		return "engine \"embedded\" \"e\" {\n settings = { " + settings + " }\n}\n"
	}
	vllm := func(settings string) string {
		return "engine \"vllm\" \"v\" {\n model = \"m\"\n settings = { " + settings + " }\n}\n"
	}
	knob := func(settings string) string {
		return "knob \"k\" {\n default = \"a\"\n value \"a\" {\n  settings = { " + settings + " }\n }\n}\n"
	}
	for src, says := range map[string]string{
		embedded("threads = 999"):                      "threads must be a whole number between 1 and 64, not 999.",
		embedded("max_model_len = 0"):                  "between 16 and 131072, not 0.",
		embedded("seed = 999999"):                      "",
		vllm("gpu_memory_utilization = 90"):            "between 0 and 1, not 90.",
		vllm("gpu_memory_utilization = 1"):             "",
		embedded("seed = 1") + knob("threads = 0"):     "between 1 and 64, not 0.",
		embedded("") + vllm("") + knob("threads = 0"):  "between 1 and 64, not 0.",
		embedded("") + knob("max_model_len = 1000000"): "between 16 and 131072, not 1000000.",
		// The knob may be set for the other engine.
		embedded("") + vllm("") + knob("max_model_len = 1000000"): "",
	} {
		res := load.Bytes("plan.hcl", []byte("plan \"p\" {}\n"+src), enginesOnly(), load.Options{})
		if says == "" && res.OK() {
			continue
		}
		if text := planstest.Text(&res.Findings); says == "" || !strings.Contains(text, says) {
			t.Errorf("%s\n%s\nwant %q", src, text, says)
		}
	}
}

func TestProfileChangesACopy(t *testing.T) {
	before, _ := kinds.Lookup("vllm")
	spec := specOf(t, `engine "vllm" "fork" {
	  model = "m"
	  profile {
	    ready_path   = "/ready"
	    metrics_path = "/prom"
	    metrics      = { running = "fork:running" }
	    ignore_eos   = false
	  }
	}`)
	k := spec.Profile
	if k == nil {
		t.Fatal("the spec has no profile")
	}
	switch {
	case len(k.Ready) != 1 || k.Ready[0].Path != "/ready":
		t.Errorf("ready %v", k.Ready)
	case k.Metrics.Path != "/prom" ||
		!slices.Equal(k.Metrics.Names["running"], []string{"fork:running", "vllm:num_requests_running"}):
		t.Errorf("metrics %v", k.Metrics)
	case k.Ask.IgnoreEOS || !k.Ask.Usage:
		t.Errorf("ask %v", k.Ask)
	}
	after, _ := kinds.Lookup("vllm")
	must.Equal(t, "the kind itself was changed", fmt.Sprint(before), fmt.Sprint(after))
}

func TestEnginesThatCannotBe(t *testing.T) {
	profile := func(attr string) string {
		return "engine \"openai\" \"e\" {\n process {\n command = [\"x\"]\n }\n profile {\n" + attr + "\n }\n}"
	}
	vllm := func(body string) string { return "engine \"vllm\" \"e\" {\n" + body + "\n}\n" }
	knob := "knob \"k\" {\n default = \"a\"\n value \"a\" {\n settings = { fused = true }\n }\n}\n"
	tests := map[string]struct{ src, want string }{
		"no model":         {vllm(""), "Missing model"},
		"none for its own": {vllm("process {\n command = [\"vllm\", \"serve\", \"{model}\"]\n }"), "Missing model"},
		"none for exec":    {vllm("exec {\n container = \"c\"\n }"), "Missing model"},
		"none for docker":  {vllm("docker {\n command = [\"--model\", \"{model}\"]\n }"), "Missing model"},
		"none for compose": {
			vllm("compose {\n service = \"s\"\n command = [\"serve\", \"{model}\"]\n }"),
			"Missing model",
		},
		"no command": {"engine \"openai\" \"e\" {\n exec {\n container = \"c\"\n }\n}", "Missing command"},
		"no choice": {"engine \"llamacpp\" \"e\" {\n model = \"x.gguf\"\n settings = { attention_backend = " +
			"\"fa3\" }\n}", "attention_backend must be one of on, off"},
		"unknown setting":  {vllm("model = \"m\"\n settings = { max_num_seq = 2 }"), "Did you mean"},
		"a page":           {profile(`ready_path = "health"`), `write "/health"`},
		"a knob's setting": {vllm(`model = "m"`) + knob, `has no setting "fused"`},
		"a knob before it": {knob + vllm(`model = "m"`), `has no setting "fused"`},
	}
	for name, tc := range tests {
		res := load.Bytes("plan.hcl", []byte("plan \"p\" {}\n"+tc.src), enginesOnly(), load.Options{})
		if got := fmt.Sprint(res.Diagnostics.Errs()); res.OK() || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %v, want %q", name, got, tc.want)
		}
	}
}

// A command that names its model itself, and one that is none of the plan's, need
// no model.
func TestEnginesThatNeedNoModel(t *testing.T) {
	for name, body := range map[string]string{
		"process":  `process { command = ["vllm", "serve", "/models/m", "--port", "{port}"] }`,
		"exec":     "exec {\n container = \"c\"\n command = [\"vllm\", \"serve\", \"/models/m\"]\n}",
		"docker":   `docker { command = ["--model", "m"] }`,
		"compose":  `compose { service = "s" }`,
		"endpoint": `endpoint { url = "http://box.example:8000" }`,
	} {
		src := "plan \"p\" {}\nengine \"vllm\" \"e\" {\n" + body + "\n}\n"
		if res := load.Bytes("plan.hcl", []byte(src), enginesOnly(), load.Options{}); !res.OK() {
			t.Errorf("%s: %v", name, res.Diagnostics.Errs())
		}
	}
}
