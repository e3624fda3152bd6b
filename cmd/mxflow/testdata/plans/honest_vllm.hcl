# Ports of vLLM on a CPU that do their work.

plan "honest_vllm" {}

include = ["honest_foreign.hcl"]

locals {
  speculation = jsonencode({ method = "ngram", num_speculative_tokens = 3, prompt_lookup_min = 2, prompt_lookup_max = 3 })
  ports = {
    compiled    = { off = ["--enforce-eager"], on = [] }
    prefixes    = { off = ["--no-enable-prefix-caching"], on = ["--enable-prefix-caching"] }
    speculation = { on = ["--speculative-config", local.speculation] }
    sequences   = { on = ["--max-num-seqs", "1"] }
    format      = { on = ["--dtype", "bfloat16"] }
  }
  port  = local.ports[var.port]
  eager = var.port == "compiled" ? [] : ["--enforce-eager"]
}

engine "vllm" "small" {
  model = "${var.models}/small"
  process { command = [var.server, "serve", "{model}", "--port", "{port}"] }
  env = {
    HF_HUB_OFFLINE         = "1"
    OMP_NUM_THREADS        = "1"
    VLLM_CPU_KVCACHE_SPACE = "1"
    VLLM_NO_USAGE_STATS    = "1"
  }
  settings = {
    dtype         = "float32"
    max_model_len = 1024
    max_num_seqs  = 4

    report_cached_tokens = true
  }
}

knob "port" {
  default = "off"
  value "off" {
    args = concat(local.eager, try(local.port.off, []))
  }
  value "on" {
    args = concat(local.eager, local.port.on)
  }
  # One sequence of 1,024 tokens at a time is also no more than that in a step.
  changes = ["cuda_graphs", "dtype", "max_num_batched_tokens", "prefix_caching", "speculative"]
}

baseline {
  engine   = engine.vllm.small
  protocol = protocol.standard
}
