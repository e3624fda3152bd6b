# A comparison of frameworks, as a team would write it down: servers and your own script
# side by side, the same prompts for all servers, in fresh launches, with speed-ups, power
# and quality against one of them.
#
#   mxflow plan   examples/frameworks/plan.hcl
#   mxflow apply  examples/frameworks/plan.hcl                         # on a machine with a GPU
#   mxflow apply  examples/frameworks/plan.hcl --var engine=embedded   # anywhere
#   mxflow report examples/frameworks/plan.hcl                         # the three tables as Markdown
#
# With engine=embedded three configurations of the embedded engine stand in for the servers, and
# the script counts divisions. Power is measured if there is a GPU: a row without one has none,
# and a rule that reads it does not pass. transformers gives no log-probabilities, so on a GPU the
# agreement of answers stands in for KL and argmax.
#
# apply: --var engine=embedded
# exit status: 2
# phase.comparison.step.compare.frameworks: pass
# phase.comparison: pass
# phase.claim: fail

plan "frameworks" {
  summary = "Which engine serves Qwen3-0.6B fastest to one user at a time, at the same quality?"
}

variable "engine" {
  description = "gpu, or embedded to run the same plan without one"
  default     = "gpu"

  validation {
    condition     = contains(["gpu", "embedded"], var.engine)
    error_message = "engine is gpu or embedded."
  }
}

engine "transformers" "hf" {
  model = "Qwen/Qwen3-0.6B"
}

engine "vllm" "bf16" {
  model    = "Qwen/Qwen3-0.6B"
  settings = { dtype = "bfloat16" }
}

engine "sglang" "bf16" {
  model = "Qwen/Qwen3-0.6B"
}

engine "llamacpp" "bf16" {
  model    = "models/Qwen3-0.6B-BF16.gguf"
  settings = { gpu_layers = "all" }
}

# Your own script: it prints what it measured, and is a row beside the servers.
engine "command" "megakernel" {
  process {
    command = ["uv", "run", "python", "bench.py", "--model", "Qwen/Qwen3-0.6B", "--json"]
  }
  run {
    timeout = "10m"
  }
  metric "decode" {
    jq = ".decode_tok_s"
    as = "tg"
  }
}

engine "embedded" "server" {
  for_each = {
    hf       = { MXFLOW_EMBEDDED_KV_CACHE = "off", MXFLOW_EMBEDDED_MOE = "all" }
    vllm     = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_MOE = "all" }
    sglang   = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_MOE = "routed" }
    llamacpp = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_MOE = "routed", MXFLOW_EMBEDDED_KV_FORMAT = "int8" }
  }
  name     = each.key
  settings = { threads = 1 }
  env      = each.value
}

engine "command" "script" {
  process {
    command = ["sh", "decode.sh"]
  }
  run {
    timeout = "1m"
  }
  metric "decode" {
    jq = ".decode_tok_s"
    as = "tg"
  }
}

locals {
  rows = {
    gpu = {
      reference = engine.transformers.hf
      others    = [engine.vllm.bf16, engine.sglang.bf16, engine.llamacpp.bf16, engine.command.megakernel]
      vllm      = "vllm.bf16"
      llamacpp  = "llamacpp.bf16"
    }
    embedded = {
      reference = engine.embedded.server["hf"]
      others    = [engine.embedded.server["vllm"], engine.embedded.server["sglang"], engine.embedded.server["llamacpp"], engine.command.script]
      vllm      = "embedded.vllm"
      llamacpp  = "embedded.llamacpp"
    }
  }[var.engine]
}

workload "chat" {
  prompt_tokens = { gpu = 512, embedded = 48 }[var.engine]
  output_tokens = { gpu = 100, embedded = 24 }[var.engine]
  requests      = { gpu = 10, embedded = 4 }[var.engine]
  warmup        = 1
}

# What an engine must pass before its numbers count. If it does not, its row says why,
# and apply does not exit with 0.
protocol "answers" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  # transformers gives no log-probabilities to compare with, so tokens have to do there.
  level "correctness" {
    max_kl           = var.engine == "gpu" ? null : 0.05
    min_argmax_match = var.engine == "gpu" ? null : 0.95
    min_agreement    = var.engine == "gpu" ? 0.8 : null
  }
}

# The tables that a blog post has: what is compared, with the speed-up over the reference.
report {
  table "Throughput" {
    columns = [
      { column = "chat.ttft", heading = "TTFT" },
      { column = "chat.tg", heading = "Decode" },
      { column = "chat.tg_total", heading = "End to end" },
      { column = "chat.itl", heading = "ITL p50" },
      { column = "chat.itl.p95", heading = "ITL p95" },
      { column = { gpu = "gpu.memory_in_use_gb", embedded = "engine.memory_gb" }[var.engine], heading = "Peak memory (GB)" },
      { column = "chat.tg.gain", heading = "Speed-up" },
    ]
  }
  table "Power and energy" {
    columns = [
      { column = "gpu.idle_power_w", heading = "Idle (W)" },
      { column = "gpu.power_w", heading = "Average (W)" },
      { column = "gpu.peak_power_w", heading = "Peak (W)" },
      "chat.tokens_per_joule",
      { column = "chat.tokens_per_joule.gain", heading = "Efficiency" },
    ]
  }
  table "Quality" {
    columns = [
      { column = "levels.correctness.kl", heading = "KL divergence" },
      { column = "levels.correctness.perplexity", heading = "Perplexity" },
      { column = "levels.correctness.argmax_match", heading = "Argmax match" },
      { column = "levels.correctness", heading = "Limits" },
    ]
  }
}

phase "comparison" {
  step "compare" "frameworks" {
    engines   = concat([local.rows.reference], local.rows.others)
    reference = local.rows.reference
    workloads = [workload.chat]
    protocol  = protocol.answers
    launches  = 4
  }
  gate {
    rule "vLLM decodes at least 1.3 times as fast as transformers" {
      rule = "compare.frameworks['${local.rows.vllm}'].chat.tg.gain >= 0.3"
    }
    rule "vLLM answers as transformers does" {
      rule = "compare.frameworks['${local.rows.vllm}'].levels.correctness == 'pass'"
    }
  }
}

phase "claim" {
  summary = "What a blog post says of llama.cpp"
  after   = [phase.comparison]

  gate {
    rule "llama.cpp's first token comes in a fifth of the time" {
      rule = "compare.frameworks['${local.rows.llamacpp}'].chat.ttft.change <= -0.8"
    }
  }
}
