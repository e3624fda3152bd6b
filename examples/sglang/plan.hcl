# Ports in SGLang: the radix cache behind a long system prompt, CUDA graphs, and a KV cache
# in FP8 that is wrong. None builds on another, so each is measured against the baseline,
# and they share its launches. The evidence is what SGLang logs while it works, not what it
# was configured to do: that is why no attention backend is among the ports.
#
#   mxflow plan  examples/sglang
#   mxflow apply examples/sglang --var engine=embedded    # anywhere
#
# With engine=embedded, on 2 cores under ten times the load they can handle, in 140 s:
#
#   feature      stands for it                    claim                       measured
#   radix_cache  prefix cache                     first token, at least +25%  +89% (lower bound +67%)
#   cuda_graphs  routed experts, not all          at least +5%                +233% (lower bound +32%)
#   kv_fp8       KV cache with fault stale_kv     at least -3%                correctness fails, so nothing
#
# apply: --var engine=embedded
# exit status: 2
# feature.radix_cache: pass
# feature.cuda_graphs: pass
# feature.kv_fp8: invalid
# phase.ports: fail

plan "sglang" {
  summary = "Three ports in SGLang for a chat behind long instructions"
}

variable "engine" {
  description = "sglang, or embedded to run the same plan without a GPU"
  default     = "sglang"

  validation {
    condition     = contains(["sglang", "embedded"], var.engine)
    error_message = "engine is sglang or embedded."
  }
}

engine "sglang" "gb10" {
  model = "openai/gpt-oss-120b"

  settings = {
    max_model_len          = 8192
    max_num_seqs           = 4
    gpu_memory_utilization = 0.70
    enable_metrics         = true
  }
}

engine "embedded" "tiny" {
  settings = { layers = 2 }
}

knob "radix_cache" {
  default = "off"
  changes = ["prefix_caching"]

  value "off" {
    settings = { sglang = { enable_prefix_caching = false }, embedded = {} }[var.engine]
    env      = { sglang = {}, embedded = { MXFLOW_EMBEDDED_PREFIX_CACHE = "off" } }[var.engine]
    must_see {
      log = { sglang = ["*Prefill batch*#cached-token: 0,*"], embedded = ["*lm_head: using kernel*"] }[var.engine]
    }
    must_not_see {
      log = { sglang = ["*#cached-token: 4*"], embedded = ["*using kernel prefix_kv_reuse*"] }[var.engine]
    }
  }
  # A cache that is on proves little; a cache hit does.
  value "on" {
    settings = { sglang = { enable_prefix_caching = true }, embedded = {} }[var.engine]
    env      = { sglang = {}, embedded = { MXFLOW_EMBEDDED_PREFIX_CACHE = "on" } }[var.engine]
    must_see {
      log = { sglang = ["*Prefill batch*#cached-token*"], embedded = ["*using kernel prefix_block_lookup*"] }[var.engine]
    }
  }
}

# embedded: all experts for every token, or only those it was routed to.
knob "cuda_graphs" {
  default = "off"
  changes = ["cuda_graphs"]

  value "off" {
    settings = { sglang = { enforce_eager = true }, embedded = {} }[var.engine]
    env      = { sglang = {}, embedded = { MXFLOW_EMBEDDED_MOE = "all" } }[var.engine]
    must_see {
      log = { sglang = ["*Decode batch*cuda graph: False*"], embedded = ["*using kernel moe_all_experts*"] }[var.engine]
    }
  }
  value "on" {
    settings = { sglang = { enforce_eager = false }, embedded = {} }[var.engine]
    env      = { sglang = {}, embedded = { MXFLOW_EMBEDDED_MOE = "routed" } }[var.engine]
    must_see {
      log = { sglang = ["*Decode batch*cuda graph: True*"], embedded = ["*using kernel moe_routed*"] }[var.engine]
    }
  }
}

# embedded: a cache that now and then returns stale keys and values (fault stale_kv).
knob "kv_cache" {
  default = "bf16"
  changes = ["kv_cache_dtype"]

  value "bf16" {
    settings = { sglang = { kv_cache_dtype = "auto" }, embedded = {} }[var.engine]
    must_see {
      log = { sglang = ["*Using KV cache dtype: torch.bfloat16*"], embedded = ["*using kernel decode_attention_kvcache*"] }[var.engine]
    }
  }
  value "fp8" {
    settings = { sglang = { kv_cache_dtype = "fp8_e4m3" }, embedded = {} }[var.engine]
    env      = { sglang = {}, embedded = { MXFLOW_EMBEDDED_FAULT = "stale_kv" } }[var.engine]
    must_see {
      log = { sglang = ["*Using KV cache dtype: torch.float8_e4m3fn*"], embedded = ["*using kernel decode_attention_kvcache*"] }[var.engine]
    }
  }
}

# Questions behind shared instructions.
workload "chat" {
  api           = "chat"
  system_tokens = { sglang = 2048, embedded = 320 }[var.engine]
  prompt_tokens = { sglang = 256, embedded = 32 }[var.engine]
  output_tokens = { sglang = 128, embedded = 48 }[var.engine]
  requests      = { sglang = 20, embedded = 16 }[var.engine]
  warmup        = 1
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}

  level "correctness" {
    prompts          = { sglang = 32, embedded = 12 }[var.engine]
    output_tokens    = { sglang = 64, embedded = 24 }[var.engine]
    prompt_tokens    = { sglang = [256], embedded = [32] }[var.engine]
    max_kl           = 0.02
    min_argmax_match = 0.98
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = { sglang = engine.sglang.gb10, embedded = engine.embedded.tiny }[var.engine]
  protocol = protocol.standard
}

# The embedded engine shares its CPUs with whatever else runs.
decision {
  false_pass = { sglang = 0.01, embedded = 0.05 }[var.engine]
  false_fail = { sglang = 0.05, embedded = 0.1 }[var.engine]
}

phase "ports" {
  feature "radix_cache" {
    set = { radix_cache = "on" }

    hypothesis {
      metric  = "chat.ttft"
      expect  = "-50%"
      because = "seven eighths of every prompt were computed before"
    }
    criterion "first_token" {
      rule = "chat.ttft.gain >= 0.25"
    }
  }

  feature "cuda_graphs" {
    set = { cuda_graphs = "on" }

    hypothesis {
      metric  = "chat.tg"
      expect  = "+5%"
      because = "a decode step is hundreds of launches of small kernels"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.05"
    }
  }

  # As fast as the correct one, and it passes the smoke test: "Paris". Correctness finds
  # the fault, and it is not measured.
  feature "kv_fp8" {
    set = { kv_cache = "fp8" }

    hypothesis {
      metric  = "chat.tg"
      expect  = ">= -3%"
      because = "half the bytes are read"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= -0.03"
    }
  }

  gate {
    rule "the first token comes sooner" {
      rule = "feature['radix_cache'].chat.ttft.gain >= 0.25"
    }
    rule "every port answers as before" {
      rule = "feature['kv_fp8'].levels.correctness == 'pass'"
    }
  }
}
