package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/enginetest/tinymodel"
)

// What is compared is how many tokens a step yields, which drafts decide and no
// other load of the machine does.
const foreignStackPlan = `plan "stack" {}
engine "llamacpp" "tiny" {
  model = "{gguf}"
  process { command = ["{program}", "-m", "{model}", "--host", "{host}", "--port", "{port}"] }
  settings = {
    threads        = 1
    max_model_len  = 1024
    max_num_seqs   = 1
    enable_metrics = true
    speculative    = { method = "ngram-simple" }
  }
}
knob "drafts" {
  default = "two"
  dynamic "value" {
    for_each = { two = 2, four = 4, eight = 8 }
    labels   = [value.key]
    content {
      args = ["--spec-ngram-simple-size-n", "2", "--spec-ngram-simple-size-m", tostring(value.value)]
      must_see { log = ["*size_m=${value.value},*"] }
    }
  }
  # Without flash attention the server refuses a quantised cache, and ends.
  value "broken" {
    settings = { kv_cache_dtype = "q8_0" }
    must_see { log = ["*size_m=*"] }
  }
}
knob "attention" {
  default = "off"
  dynamic "value" {
    for_each = { off = "disabled", on = "enabled" }
    labels   = [value.key]
    content {
      settings = { attention_backend = value.key }
      must_see { log = ["*flash_attn*= ${value.value}*"] }
    }
  }
  changes = ["attention"]
}
workload "long" {
  prompt_tokens = 24
  output_tokens = 96
  requests      = 4
  warmup        = 1
  max_lag       = "1m"
}
protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "{answer}"
  }
  level "kernels" {}
  level "benchmark" { workloads = [workload.long] }
}
baseline {
  engine   = engine.llamacpp.tiny
  protocol = protocol.standard
}
phase "choice" {
  feature "drafts" {
    choose = { drafts = ["four", "broken", "eight"] }
    criterion "accepted" { rule = "long.accept_length.gain >= 0.2" }
  }
}
phase "stack" {
  after = [phase.choice]
  feature "flash" {
    set       = { attention = "on" }
    builds_on = accepted
    criterion "accepted" { rule = "long.accept_length.gain >= -0.1" }
    criterion "memory" { rule = "engine.memory_gb.delta <= 0.5 and engine.crashes == 0" }
  }
}
`

// TestForeignStack chooses, stacks, retracts and reproduces with a real engine.
func TestForeignStack(t *testing.T) {
	server := os.Getenv("MXFLOW_TEST_LLAMA_SERVER")
	missing := errors.New("nothing names it; .ci/foreign installs it and runs this test")
	if server != "" {
		_, missing = os.Stat(server)
	}
	enginetest.Require(t, "llama-server", missing)
	s := foreignStack{t: t, dir: t.TempDir()}
	gguf := filepath.Join(s.dir, "tiny.gguf")
	if err := tinymodel.New(1).WriteGGUF(gguf); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("{gguf}", gguf, "{program}", server, "{answer}", tinymodel.Answer(10)).Replace(foreignStackPlan)
	if err := os.WriteFile(filepath.Join(s.dir, "plan.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s.mxflow(0, "apply")
	s.stack("drafts", "flash")
	s.mxflow(0, "explain", "feature.drafts")
	script := s.mxflow(0, "env", "accepted")
	s.serves(script, "-fa on", "--spec-ngram-simple-size-m 8")

	s.mxflow(0, "retract", "drafts", "--reason", "the text repeats itself", "--by", "kim")
	s.stack()
	if out := s.mxflow(2, "apply"); strings.Contains(out, "launch of") || strings.Contains(out, "benchmark launch") {
		t.Error("an apply started the engine for what was retracted")
	}
	s.serves(s.mxflow(0, "env", "accepted"), "Nothing was accepted", "-fa off", "--spec-ngram-simple-size-m 2")

	s.mxflow(0, "apply", "--rerun", "drafts")
	s.stack("drafts", "flash")
	if again := s.mxflow(0, "env", "accepted"); again != script {
		t.Errorf("accepted again, it is reproduced otherwise:\n%s", again)
	}
	s.mxflow(0, "audit", "verify")
	s.mxflow(0, "audit", "replay")
}
