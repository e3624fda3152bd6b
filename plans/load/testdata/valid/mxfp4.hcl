# The sketch of the design page, as far as the language goes today.
plan "mxfp4_v2" {
  summary = "Make vLLM the fastest engine for gpt-oss-120b on GB10 (SM121)"
}

variable "model" {
  description = "What is served"
  type        = string
  default     = "openai/gpt-oss-120b"
}

variable "engine" {
  type    = string
  default = "embedded"
}

locals {
  chosen = local.small ? engine.embedded.tiny : engine.openai.gb10
  small  = var.engine == "embedded"
  least  = 0.1
}

target "llamacpp" {
  tool = "llama-bench f5acfb2ff"
  metrics = {
    chat = { pp = 2449.83, tg = 57.85 }
  }
}

engine "openai" "gb10" {
  model = var.model

  process {
    command = ["vllm", "serve", var.model, "--port", "{port}"]
    dir     = "work"
  }

  env = {
    VLLM_ATTENTION_BACKEND = "FLASHINFER"
  }

  args = ["--enable-prefix-caching"]

  ready {
    timeout = "15m"
  }

  stop {
    grace = "20s"
  }
}

engine "embedded" "tiny" {
  settings = {
    layers   = 4
    kv_cache = true
  }
}

knob "moe_kernel" {
  summary = "Which kernel multiplies the experts"
  default = "marlin"

  value "marlin" {
    env = { VLLM_MXFP4_MOE_KERNEL = null }
    must_see {
      log = ["*Marlin backend*"]
    }
  }

  value "gemm" {
    env      = { VLLM_MXFP4_MOE_KERNEL = "gemm" }
    settings = { moe = "routed", threads = null }
    args     = ["--moe", "gemm"]
    must_see {
      log = ["*backend: CUTLASS*"]
    }
    must_not_see {
      log = ["*marlin_moe*"]
    }
  }
}

knob "sinks" {
  default = "off"

  value "off" {
    must_not_see {
      log = ["attention sinks on"]
    }
  }
  value "on" {
    must_see {
      log = ["attention sinks on"]
    }
  }
}

workload "chat" {
  summary       = "A turn of a conversation"
  prompt_tokens = 2048
  output_tokens = 32
  requests      = 10
  warmup        = 3
}

workload "lengths" {
  prompt_tokens   = [128, 512]
  output_tokens   = [32]
  api             = "chat"
  temperature     = 0.7
  ignore_eos      = false
  request_timeout = "90s"
}

protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat, workload.lengths]
    launches  = 6
  }
}

protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = local.chosen
  protocol = protocol.standard
}

phase "branches" {
  summary = "Start from a clean branch"

  step "exec" "branch" {
    command = ["git", "checkout", "-b", "mxfp4_v2"]
    dir     = "vllm"
    env     = { GIT_PAGER = "" }
    timeout = "30s"
  }
}

phase "cutlass" {
  after = [phase.branches]

  feature "cutlass_grouped_gemm" {
    priority = 1
    set      = { moe_kernel = "gemm" }

    hypothesis {
      metric  = "chat.tg"
      expect  = "+10%"
      because = "the grouped GEMM avoids Marlin's dequantisation on SM121"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= ${local.least}"
    }
    criterion "first_token" {
      rule = "chat.ttft.change <= 0.03"
    }
    accept = ["decode"]
  }

  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    rule "decode did not regress" {
      rule = "chat.tg.gain >= -0.03"
    }
  }
}

phase "sinks" {
  after_decided = [phase.cutlass]

  feature "attention_sinks" {
    set       = { sinks = "on" }
    builds_on = feature.cutlass_grouped_gemm
    protocol  = protocol.standard

    criterion "no_regression" {
      rule = "chat.tg.gain >= -0.03"
    }
  }

  feature "sinks_again" {
    set       = { sinks = "on" }
    builds_on = accepted

    criterion "no_regression" {
      rule = "lengths.p128.o32.tg.gain >= -0.03"
    }
  }
}
