# Two ports, one after the other, on the embedded engine: a KV cache, then routing
# tokens to their experts. Nothing is imitated: the engine computes every token. So
# many layers make a token take milliseconds, as on a GPU.
#
#   mxflow apply examples/quickstart/plan.hcl
#
# exit status: 0

plan "quickstart" {
  summary = "Make the embedded engine decode fast: a KV cache first, then routed experts"
}

engine "embedded" "tiny" {
  settings = {
    threads = 1
    layers  = 20
  }
}

# The switches under test: each knob is one feature gate of the engine, and says
# how the engine's log proves that the value took effect.
knob "kv_cache" {
  default = "off"

  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off" }
    must_see {
      log = ["*using kernel full_prefix_attention_recompute*"]
    }
    must_not_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
  }

  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
    must_not_see {
      log = ["*using kernel full_prefix_attention_recompute*"]
    }
  }
}

knob "moe" {
  default = "all"

  value "all" {
    env = { MXFLOW_EMBEDDED_MOE = "all" }
    must_see {
      log = ["*using kernel moe_all_experts*"]
    }
  }

  value "routed" {
    env = { MXFLOW_EMBEDDED_MOE = "routed" }
    must_see {
      log = ["*using kernel moe_routed*"]
    }
    must_not_see {
      log = ["*using kernel moe_all_experts*"]
    }
  }
}

workload "chat" {
  prompt_tokens = 8
  output_tokens = 12
  requests      = 8
  warmup        = 1
  max_lag       = "250ms" # engine and client share the processors of a busy laptop
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
    workloads = [workload.chat]
  }
}

baseline {
  engine   = engine.embedded.tiny # every knob at its default
  protocol = protocol.standard
}

phase "cache" {
  feature "kv_cache" {
    set = { kv_cache = "on" }

    hypothesis {
      metric  = "chat.tg"
      expect  = "+50%"
      because = "without a cache every token recomputes the whole sequence"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.2"
    }
  }

  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    rule "decode is faster" {
      rule = "chat.tg.gain >= 0.2"
    }
    rule "whole answers come sooner" {
      rule = "chat.e2e.gain >= 0.1"
    }
  }
}

phase "experts" {
  after = [phase.cache]

  feature "routed_moe" {
    set       = { moe = "routed" }
    builds_on = accepted

    hypothesis {
      metric  = "chat.tg"
      expect  = "+20%"
      because = "each token needs its top-k experts, not all of them"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }

  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    rule "faster than the stack it builds on" {
      rule = "chat.tg.gain >= 0.1"
    }
    rule "faster than the baseline" {
      rule = "chat.tg.root.gain >= 0.5"
    }
  }
}
