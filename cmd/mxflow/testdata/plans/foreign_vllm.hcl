# A port of vllm, as TestForeignEngines starts it.

plan "foreign" {}

include = ["foreign.hcl"]

engine "vllm" "tiny" {
  model = var.model
  process { command = [var.server, "serve", var.model, "--port", "{port}"] }
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
  }
}

knob "port" {
  default = "eager"
  value "eager" {
    settings = { enforce_eager = true }
    must_see {
      log      = ["*enforce_eager=True*"]
      at_start = true # the line repeats the configuration
    }
  }
  value "compiled" {
    settings = { enforce_eager = false }
    must_see {
      log      = ["*enforce_eager=False*"]
      at_start = true # the line repeats the configuration
    }
  }
  changes = ["cuda_graphs"]
}

baseline {
  engine   = engine.vllm.tiny
  protocol = protocol.standard
}

phase "port" {
  feature "port" {
    set = { port = "compiled" }
    criterion "decodes" { rule = "chat.tg.gain >= -0.99" }
  }
  gate {
    rule "proved" { rule = "levels.kernels == 'pass'" }
    rule "it decodes" { rule = "chat.tg.gain >= -0.99 and engine.crashes == 0" }
  }
}
