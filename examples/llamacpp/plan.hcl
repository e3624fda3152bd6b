# Ports in llama.cpp: flash attention, an 8-bit KV cache and n-gram speculation, one on
# top of the other. The numbers to beat are llama-bench's for the same build.
#
#   mxflow plan  examples/llamacpp --var model=models/gpt-oss-120b-mxfp4.gguf
#   mxflow apply examples/llamacpp --var engine=embedded    # anywhere
#
# With engine=embedded, on 2 cores under ten times the load they can handle, in 3 minutes:
#
#   feature  stands for it       claim                          measured
#   flash    KV cache            at least +10%                  +1012% (lower bound +387%)
#   kv_q8    KV cache in int8    at most half slower            -10.6% (lower bound -49.4%)
#   ngram    prompt lookup of 8  at least +50%                  -25%, 1.08 tokens per step
#
# apply: --var engine=embedded
# exit status: 2
# feature.flash: pass
# phase.attention: pass
# feature.kv_q8: pass
# phase.kv_cache: pass
# feature.ngram: fail
# phase.speculation: fail

plan "llamacpp" {
  summary = "How much of llama-server's speed is left on the table on a GB10?"
}

variable "engine" {
  description = "llamacpp, or embedded to run the same plan without a GPU"
  default     = "llamacpp"

  validation {
    condition     = contains(["llamacpp", "embedded"], var.engine)
    error_message = "engine is llamacpp or embedded."
  }
}

variable "model" {
  description = "The GGUF file, or its name on Hugging Face"
  default     = "ggml-org/gpt-oss-120b-GGUF"
}

engine "llamacpp" "gb10" {
  model = var.model

  settings = {
    gpu_layers            = "all"
    fit                   = false # arms that fit themselves to memory can differ
    max_model_len         = 8192
    max_num_seqs          = 1
    enable_prefix_caching = false
    enable_metrics        = true
  }
}

engine "embedded" "tiny" {
  settings = { layers = 2 }
}

target "llama_bench" {
  tool    = "llama-bench f5acfb2ff"
  summary = "On the GB10; beside the embedded engine it only shows how targets read"
  metrics = { chat = { pp = 2449.83, tg = 57.85 } }
}

knob "flash_attention" {
  default = "off"

  value "off" {
    settings = { llamacpp = { attention_backend = "off" }, embedded = {} }[var.engine]
    env      = { llamacpp = {}, embedded = { MXFLOW_EMBEDDED_KV_CACHE = "off" } }[var.engine]
    must_see {
      log = { llamacpp = ["*flash_attn*= disabled*"], embedded = ["*using kernel full_prefix_attention_recompute*"] }[var.engine]
    }
  }
  value "on" {
    settings = { llamacpp = { attention_backend = "on" }, embedded = {} }[var.engine]
    env      = { llamacpp = {}, embedded = { MXFLOW_EMBEDDED_KV_CACHE = "on" } }[var.engine]
    must_see {
      log = { llamacpp = ["*flash_attn*= enabled*"], embedded = ["*using kernel decode_attention_kvcache*"] }[var.engine]
    }
  }
}

# Quantised values need flash attention, so this knob builds on that one.
knob "kv_cache" {
  default = "f16"
  changes = ["kv_cache_dtype"]

  value "f16" {
    settings = { llamacpp = { kv_cache_dtype = "f16" }, embedded = {} }[var.engine]
    env      = { llamacpp = {}, embedded = { MXFLOW_EMBEDDED_KV_FORMAT = "f32" } }[var.engine]
    must_see {
      log = { llamacpp = ["*K (f16)*"], embedded = ["*lm_head: using kernel*"] }[var.engine]
    }
    must_not_see {
      log = { llamacpp = ["*K (q8_0)*"], embedded = ["*using kernel kv_round_int8*"] }[var.engine]
    }
  }
  value "q8_0" {
    settings = { llamacpp = { kv_cache_dtype = "q8_0" }, embedded = {} }[var.engine]
    env      = { llamacpp = {}, embedded = { MXFLOW_EMBEDDED_KV_FORMAT = "int8" } }[var.engine]
    must_see {
      log = { llamacpp = ["*K (q8_0)*"], embedded = ["*using kernel kv_round_int8*"] }[var.engine]
    }
  }
}

knob "speculation" {
  default = "off"
  changes = [{ llamacpp = "speculative", embedded = "speculation" }[var.engine]]

  value "off" {
    env = { llamacpp = {}, embedded = { MXFLOW_EMBEDDED_SPECULATION = "off" } }[var.engine]
    must_see {
      log = { llamacpp = ["*eval time*"], embedded = ["*lm_head: using kernel*"] }[var.engine]
    }
    must_not_see {
      log = { llamacpp = ["*draft acceptance*"], embedded = ["*using kernel draft_verify*"] }[var.engine]
    }
  }
  value "ngram" {
    settings = {
      llamacpp = { speculative = { method = "ngram-simple", num_speculative_tokens = 8 } }
      embedded = {}
    }[var.engine]
    env = { llamacpp = {}, embedded = { MXFLOW_EMBEDDED_SPECULATION = "prompt_lookup:8" } }[var.engine]
    must_see {
      log = { llamacpp = ["*draft acceptance*"], embedded = ["*using kernel draft_verify_batched*"] }[var.engine]
    }
  }
}

workload "chat" {
  prompt_tokens = { llamacpp = 2048, embedded = 96 }[var.engine]
  output_tokens = { llamacpp = 128, embedded = 48 }[var.engine]
  requests      = { llamacpp = 10, embedded = 10 }[var.engine]
  warmup        = 1
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}

  level "correctness" {
    prompts          = { llamacpp = 32, embedded = 12 }[var.engine]
    output_tokens    = { llamacpp = 64, embedded = 24 }[var.engine]
    min_argmax_match = 0.98
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = { llamacpp = engine.llamacpp.gb10, embedded = engine.embedded.tiny }[var.engine]
  protocol = protocol.standard
}

# The embedded engine shares its CPUs with whatever else runs.
decision {
  false_pass = { llamacpp = 0.01, embedded = 0.05 }[var.engine]
  false_fail = { llamacpp = 0.05, embedded = 0.1 }[var.engine]
}

phase "attention" {
  feature "flash" {
    set = { flash_attention = "on" }

    hypothesis {
      metric  = "chat.tg"
      expect  = "+10%"
      because = "scores never leave the multiprocessor"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.10"
    }
  }
  gate {
    rule "flash attention runs" {
      rule = "levels.kernels == 'pass'"
    }
    rule "it answers alike" {
      rule = "levels.correctness == 'pass'"
    }
  }
}

phase "kv_cache" {
  after = [phase.attention]

  # Twice the context in the same memory, if it costs next to nothing.
  feature "kv_q8" {
    builds_on = accepted
    set       = { kv_cache = "q8_0" }

    hypothesis {
      metric  = "chat.tg"
      expect  = ">= -3%"
      because = "half the bytes are read, and each is converted"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= ${ { llamacpp = -0.03, embedded = -0.5 }[var.engine]}"
    }
  }
  gate {
    rule "it answers alike" {
      rule = "levels.correctness == 'pass'"
    }
  }
}

phase "speculation" {
  after = [phase.kv_cache]

  feature "ngram" {
    builds_on = accepted
    set       = { speculation = "ngram" }

    hypothesis {
      metric  = "chat.tg"
      expect  = "+50%"
      because = "drafts cost nothing, and eight tokens are verified in one pass"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.50"
    }
    criterion "tokens_per_step" {
      rule = "chat.accept_length >= 2"
    }
  }
  gate {
    rule "decode is faster" {
      rule = "chat.tg.gain >= 0.25"
    }
    # A count: it decides where speeds are too noisy.
    rule "drafts are accepted" {
      rule = "chat.accept_rate >= 0.5"
    }
  }
}
