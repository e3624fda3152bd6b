package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/enginetest/tinymodel"
)

// foreignEngine is a real engine that somebody else wrote, as .ci/foreign
// installs it.
type foreignEngine struct {
	// part is its word in MXFLOW_TEST_REQUIRE; program is where it lies, "" where
	// this machine has none.
	part, program string
	// block is the body of its engine block, knob the knob whose second value is
	// under test. {program} and {model} are replaced.
	kind, block, knob string
	// observed must have been seen in each launch.
	observed []string
	// limits is what more its workload "busy" says; drafts that it decodes
	// speculatively and counts how that went.
	limits string
	drafts bool
	// roughly says that nobody counts tokens for mxflow before they are sent: there
	// is no tokenizer to ask, and too few of the tiny vocabulary's words are common.
	roughly bool
}

func foreignEngines() []foreignEngine {
	python := os.Getenv("MXFLOW_TEST_PYTHON")
	inPython := func(name string) string {
		if python == "" {
			return ""
		}
		return filepath.Join(python, "bin", name)
	}
	return []foreignEngine{
		{
			part: "llama-server", program: os.Getenv("MXFLOW_TEST_LLAMA_SERVER"), kind: "llamacpp",
			block: `
  model = "{gguf}"
  process { command = ["{program}", "-m", "{gguf}", "--port", "{port}"] }
  settings = {
    threads        = 1
    max_model_len  = 1024
    max_num_seqs   = 2
    enable_metrics = true
    speculative    = { method = "ngram-simple", num_speculative_tokens = 8 }
  }
  args = ["--spec-ngram-simple-size-n", "2", "--spec-ngram-simple-size-m", "8"]`,
			knob: `
  default = "off"
  value "off" {
    settings = { attention_backend = "off" }
    must_see { log = ["*flash_attn*= disabled*"] }
  }
  value "on" {
    settings = { attention_backend = "on" }
    must_see { log = ["*flash_attn*= enabled*"] }
  }
  changes = ["attention"]`,
			observed: []string{"attention", "quantization", "kv_capacity_tokens", "weights_gb", "version"},
			drafts:   true,
		},
		{
			part: "vllm", program: inPython("vllm"), kind: "vllm",
			block: `
  model = "{folder}"
  process { command = ["{program}", "serve", "{folder}", "--port", "{port}"] }
  env = {
    HF_HUB_OFFLINE         = "1"
    OMP_NUM_THREADS        = "1"
    VLLM_CPU_KVCACHE_SPACE = "1"
    VLLM_NO_USAGE_STATS    = "1"
  }
  settings = {
    dtype         = "float32"
    max_model_len = 1024
    max_num_seqs  = 2
    speculative   = { method = "ngram", num_speculative_tokens = 3, prompt_lookup_min = 2, prompt_lookup_max = 3 }

    report_cached_tokens = true
  }`,
			knob: `
  default = "eager"
  value "eager" {
    settings = { enforce_eager = true }
    must_see { log = ["*enforce_eager=True*"] }
  }
  value "compiled" {
    settings = { enforce_eager = false }
    must_see { log = ["*enforce_eager=False*"] }
  }
  changes = ["cuda_graphs"]`,
			observed: []string{"kv_capacity_tokens", "max_model_len", "version", "dtype", "speculative"},
			drafts:   true,
		},
		{
			part: "transformers", program: inPython("transformers"), kind: "transformers",
			block: `
  model = "{folder}"
  process { command = ["{program}", "serve", "{folder}", "--port", "{port}"] }
  env = {
    HF_HUB_OFFLINE  = "1"
    OMP_NUM_THREADS = "1"
  }
  settings = {
    device = "cpu"
    dtype  = "float32"
  }`,
			knob: `
  default = "off"
  value "off" {
    settings = { continuous_batching = false }
    must_see { log = ["*CB: False*"] }
  }
  value "on" {
    settings = { continuous_batching = true }
    # Without limits it takes nine tenths of the memory for its cache.
    args = ["--cb-num-blocks", "64", "--cb-max-batch-tokens", "256"]
    must_see { log = ["*CB: True*"] }
  }`,
			// Without continuous batching it answers one request after another.
			limits:  "min_reached = 0",
			roughly: true,
		},
	}
}

const foreignPlan = `plan "foreign" {}
engine "{kind}" "tiny" {{block}
}
knob "port" {{knob}
}
workload "chat" {
  prompt_tokens = 24
  output_tokens = 16
  requests      = 5
  warmup        = 1
  max_lag       = "1m"
}
# Answers are longer than the model's text, so that a draft finds its beginning.
workload "busy" {
  prompt_tokens = 40
  output_tokens = 96
  depth         = [0, 64]
  concurrency   = [1, 2]
  requests      = 4
  warmup        = 1
  max_lag       = "1m"
  {limits}
}
protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "{answer}"
  }
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat, workload.busy]
    launches  = 4
  }
}
baseline {
  engine   = engine.{kind}.tiny
  protocol = protocol.standard
}
phase "port" {
  feature "port" {
    set = { port = "{on}" }
    criterion "decodes" { rule = "chat.tg.gain >= -0.99" }
  }
  gate {
    rule "proved" { expr = "levels.kernels == 'pass'" }
    rule "it decodes" { expr = "chat.tg.gain >= -0.99 and engine.crashes == 0" }
  }
}
`

// TestForeignEngines takes a port of each real engine through a whole plan: the
// answer must be the one that the model's weights were made for.
func TestForeignEngines(t *testing.T) {
	for _, f := range foreignEngines() {
		t.Run(f.part, func(t *testing.T) {
			missing := error(nil)
			if f.program == "" {
				missing = errors.New("nothing names it; .ci/foreign installs it and runs this test")
			} else if _, err := os.Stat(f.program); err != nil {
				missing = err
			}
			enginetest.Require(t, f.part, missing)
			f.run(t)
		})
	}
}

func (f foreignEngine) run(t *testing.T) {
	dir := t.TempDir()
	model := tinymodel.New(1)
	gguf, folder := filepath.Join(dir, "tiny.gguf"), filepath.Join(dir, "tiny")
	if err := errors.Join(model.WriteGGUF(gguf), model.WriteHuggingFace(folder)); err != nil {
		t.Fatal(err)
	}
	values := []string{}
	for line := range strings.SplitSeq(f.knob, "\n") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), `value "`); ok {
			values = append(values, strings.TrimSuffix(name, `" {`))
		}
	}
	text := strings.NewReplacer(
		"{kind}", f.kind, "{block}", f.block, "{knob}", f.knob, "{answer}", tinymodel.Answer(10), "{on}", values[1], "{limits}", f.limits,
	).Replace(foreignPlan)
	text = strings.NewReplacer("{program}", f.program, "{gguf}", gguf, "{folder}", folder).Replace(text)
	plan := filepath.Join(dir, "plan.hcl")
	if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "apply", plan)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	f.check(t, dir)
}
