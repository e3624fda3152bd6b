# The benchmark log of a home-grown inference engine, as a plan: seven configurations in
# three tiers, three models, and milestones that must hold on all of them. apply records
# what used to be a table filled in by hand.
#
#   mxflow plan  examples/generation                        # suite quick, as a milestone is written
#   mxflow apply examples/generation --suite full           # all seven
#   mxflow apply examples/generation --var engine=embedded  # anywhere
#
# Measured with engine=embedded on 2 cores, suite quick, in 40 s (suite full: 8 minutes):
#
#   feature       stand-in                        claim             llama   qwen3   gemma3
#   kv_cache      KV cache                        at least +25%     +442%   +793%   +81%
#   fused         routed experts, not all         at least +20%     +165%
#   int8_cache    keys and values in 8 bits       at least +50%     -7% (upper bound +28%)
#
# apply: --var engine=embedded
# exit status: 2
# feature.kv_cache.first: pass
# feature.kv_cache@qwen3: pass
# feature.kv_cache@gemma3: pass
# feature.kv_cache: pass
# phase.kv_cache: pass
# feature.fused: pass
# phase.fused_kernels: pass
# feature.int8_cache: fail
# phase.int8_cache: fail

plan "generation" {
  summary = "Is a milestone faster on all three models, in all seven configurations?"
}

variable "engine" {
  description = "infer, or embedded to run the same plan without a GPU"
  default     = "infer"

  validation {
    condition     = contains(["infer", "embedded"], var.engine)
    error_message = "engine is infer or embedded."
  }
}

locals {
  models = {
    llama  = { model = "meta-llama/Llama-3.2-1B-Instruct", layers = 2 }
    qwen3  = { model = "Qwen/Qwen3-1.7B", layers = 3 }
    gemma3 = { model = "google/gemma-3-1b-it", layers = 1 }
  }
  # The seven configurations. A laptop has time for a thirtieth of the tokens.
  configurations = {
    short     = { prompt = 64, output = 64 }
    medium    = { prompt = 256, output = 256 }
    prefill   = { prompt = 1024, output = 64 }
    decode    = { prompt = 64, output = 1024 }
    long      = { prompt = 1024, output = 1024 }
    sampled   = { prompt = 256, output = 256, temperature = 0.8, top_k = 50, top_p = 0.9 }
    full_pipe = { prompt = 256, output = 256, temperature = 0.8, top_k = 50, top_p = 0.9, penalty = 1.1 }
  }
  share = { infer = 1, embedded = 0.125 }[var.engine]
}

engine "openai" "model" {
  for_each = local.models
  name     = each.key
  model    = each.value.model

  process {
    command = ["uv", "run", "python", "-m", "infer.server", "--model", "{model}", "--port", "{port}"]
  }
}

engine "embedded" "model" {
  for_each = local.models
  name     = each.key
  settings = { layers = each.value.layers }
}

locals {
  engines = { infer = engine.openai.model, embedded = engine.embedded.model }[var.engine]
}

workload "generation" {
  for_each = local.configurations
  name     = each.key

  prompt_tokens      = ceil(each.value.prompt * local.share)
  output_tokens      = ceil(each.value.output * local.share)
  temperature        = try(each.value.temperature, 0)
  top_k              = try(each.value.top_k, 0)
  top_p              = try(each.value.top_p, 0)
  repetition_penalty = try(each.value.penalty, 0)
  seed               = 42
  requests           = { infer = 3, embedded = 12 }[var.engine]
  warmup             = 2
}

suite "quick" {
  summary   = "Fast iteration"
  workloads = [workload.generation["short"], workload.generation["medium"]]
}

suite "standard" {
  summary   = "What a change is reviewed with"
  workloads = [for name in ["short", "medium", "prefill", "decode", "sampled"] : workload.generation[name]]
}

suite "full" {
  summary   = "Milestones"
  workloads = [for name in keys(local.configurations) : workload.generation[name]]
}

knob "kv_cache" {
  default = "off"

  value "off" {
    args = { infer = ["--no-kv-cache"], embedded = [] }[var.engine]
    env  = { infer = {}, embedded = { MXFLOW_EMBEDDED_KV_CACHE = "off" } }[var.engine]
    must_see {
      log = { infer = ["*recomputing the prefix*"], embedded = ["*using kernel full_prefix_attention_recompute*"] }[var.engine]
    }
  }
  value "on" {
    args = { infer = ["--kv-cache"], embedded = [] }[var.engine]
    env  = { infer = {}, embedded = { MXFLOW_EMBEDDED_KV_CACHE = "on" } }[var.engine]
    must_see {
      log = { infer = ["*kv cache: * tokens kept*"], embedded = ["*using kernel decode_attention_kvcache*"] }[var.engine]
    }
  }
}

knob "kernels" {
  default = "eager"

  value "eager" {
    args = { infer = ["--kernels", "eager"], embedded = [] }[var.engine]
    env  = { infer = {}, embedded = { MXFLOW_EMBEDDED_MOE = "all" } }[var.engine]
    must_see {
      log = { infer = ["*using kernel torch_rms_norm*"], embedded = ["*using kernel moe_all_experts*"] }[var.engine]
    }
  }
  value "triton" {
    args = { infer = ["--kernels", "triton"], embedded = [] }[var.engine]
    env  = { infer = {}, embedded = { MXFLOW_EMBEDDED_MOE = "routed" } }[var.engine]
    must_see {
      log = { infer = ["*using kernel triton_rms_norm*", "*using kernel triton_fused_norm_residual*"], embedded = ["*using kernel moe_routed*"] }[var.engine]
    }
  }
}

knob "cache_format" {
  default = "bf16"

  value "bf16" {
    args = { infer = ["--cache-dtype", "bf16"], embedded = [] }[var.engine]
    env  = { infer = {}, embedded = { MXFLOW_EMBEDDED_KV_FORMAT = "f32" } }[var.engine]
    must_see {
      log = { infer = ["*using kernel triton_rope_bf16*"], embedded = ["*lm_head: using kernel*"] }[var.engine]
    }
    must_not_see {
      log = { infer = ["*using kernel quantize_kv_int8*"], embedded = ["*using kernel kv_round_int8*"] }[var.engine]
    }
  }
  value "int8" {
    args = { infer = ["--cache-dtype", "int8"], embedded = [] }[var.engine]
    env  = { infer = {}, embedded = { MXFLOW_EMBEDDED_KV_FORMAT = "int8" } }[var.engine]
    must_see {
      log = { infer = ["*using kernel quantize_kv_int8*"], embedded = ["*using kernel kv_round_int8*"] }[var.engine]
    }
  }
}

# The tables of the log, a column a configuration; those that the suite does not send are named below
# each table.
locals {
  order  = ["short", "medium", "prefill", "decode", "long", "sampled", "full_pipe"]
  memory = { infer = "gpu_memory_in_use_gb", embedded = "engine_memory_gb" }[var.engine]
}

report {
  table "End to end" {
    columns = [for name in local.order : { column = "${name}.tg_total", heading = name }]
  }
  table "Decode" {
    columns = [for name in local.order : { column = "${name}.tg", heading = name }]
  }
  table "Step latency" {
    columns = flatten([for name in local.order : [
      { column = "${name}.itl", heading = "${name} p50" }, { column = "${name}.itl.p95", heading = "${name} p95" },
    ]])
  }
  table "Time to first token" {
    columns = [for name in local.order : { column = "${name}.ttft", heading = name }]
  }
  table "Peak memory and use of the KV cache" {
    columns = flatten([for name in local.order : [
      { column = "${name}.${local.memory}", heading = "${name} (GB)" }, { column = "${name}.kv_cache_usage", heading = "${name} cache" },
    ]])
  }
}

protocol "log" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}
  level "benchmark" {
    suite = suite.quick
  }
}

baseline {
  engine   = local.engines["llama"]
  protocol = protocol.log
}

# The embedded engine shares its CPUs with whatever else runs.
decision {
  false_pass = { infer = 0.01, embedded = 0.05 }[var.engine]
  false_fail = { infer = 0.05, embedded = 0.1 }[var.engine]
}

phase "kv_cache" {
  summary = "2026-02-20: KV cache"

  feature "kv_cache" {
    set = { kv_cache = "on" }

    hypothesis {
      metric  = "medium.tg"
      expect  = "+100%"
      because = "a step costs one position, however long the sequence is"
    }
    criterion "decode" {
      rule = "medium.tg.gain >= 0.25"
    }

    # A milestone must hold on the other two models as well.
    confirm {
      engine   = local.engines["qwen3"]
      criteria = ["decode"]
    }
    confirm {
      engine   = local.engines["gemma3"]
      criteria = ["decode"]
    }
  }
  gate {
    rule "decode is faster" {
      rule = "medium.tg.gain >= 0.25"
    }
  }
}

phase "fused_kernels" {
  summary = "2026-02-21: fused Triton kernels"
  after   = [phase.kv_cache]

  feature "fused" {
    builds_on = accepted
    set       = { kernels = "triton" }

    hypothesis {
      metric  = "medium.tg"
      expect  = "+45%"
      because = "fewer kernels are launched a layer, and fewer tensors written between them"
    }
    criterion "decode" {
      rule = "medium.tg.gain >= 0.20"
    }
  }
  gate {
    rule "decode is faster" {
      rule = "medium.tg.gain >= 0.20"
    }
  }
}

phase "int8_cache" {
  summary = "A cache of half the size"
  after   = [phase.fused_kernels]

  feature "int8_cache" {
    builds_on = accepted
    set       = { cache_format = "int8" }

    hypothesis {
      metric  = "medium.tg"
      expect  = "+50%"
      because = "the cache is read at every step, and half of it is read faster"
    }
    criterion "decode" {
      rule = "medium.tg.gain >= 0.50"
    }
  }
  gate {
    rule "decode is faster" {
      rule = "medium.tg.gain >= 0.50"
    }
  }
}
