# All levels of the protocol, on a port that passes them and on three that do not: one is
# fast and wrong, one leaks, and one speeds up what its author looked at and slows down what
# nobody looked at. The gate passes because each was caught. Takes about half a minute.
#
# exit status: 0
# feature.cached: pass
# feature.fast_and_wrong: invalid
# feature.leaks: invalid
# feature.trades_ttft: fail

plan "protocol" {
  summary = "Four ports of a KV cache, of which one is good"
}

engine "embedded" "tiny" {
  settings = { layers = 2 }
}

# The port, and two ways to get it wrong. As in real life, the faults log nothing.
knob "kv_cache" {
  default = "off"

  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off" }
    must_see {
      log = ["*using kernel full_prefix_attention_recompute*"]
    }
  }
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
  }
  value "stale" {
    env = {
      MXFLOW_EMBEDDED_KV_CACHE = "on"
      MXFLOW_EMBEDDED_FAULT    = "stale_kv"
    }
    must_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
  }
  value "leaky" {
    env = {
      MXFLOW_EMBEDDED_KV_CACHE = "on"
      MXFLOW_EMBEDDED_FAULT    = "leak:512"
    }
    must_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
  }
}

knob "experts" {
  default = "routed"

  value "routed" {
    env = { MXFLOW_EMBEDDED_MOE = "routed" }
    must_see {
      log = ["*using kernel moe_routed*"]
    }
  }
  value "all" {
    env = { MXFLOW_EMBEDDED_MOE = "all" }
    must_see {
      log = ["*using kernel moe_all_experts*"]
    }
  }
}

workload "chat" {
  prompt_tokens = 96
  output_tokens = 32
  requests      = 6
  warmup        = 1
}

protocol "whole" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}

  level "correctness" {
    prompts          = 8
    output_tokens    = 24
    max_kl           = 0.02
    min_argmax_match = 0.98
  }
  level "stress" {
    sequential       = 40
    concurrency      = [2, 4]
    soak             = "2s"
    prompt_tokens    = [16, 48]
    output_tokens    = [8, 16]
    max_memory_slope = 100
  }
  # Your own check: the engine still lists its model after all that.
  level "exec" "lists_models" {
    command = ["sh", "-c", "test -n \"$MXFLOW_MODEL\" && test -s \"$MXFLOW_LOG\""]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
  level "regression" {
    decisive     = ["chat.tg", "chat.ttft"]
    max_slowdown = 0.5
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.whole
}

phase "ports" {
  # Passes every level, and enters the stack.
  feature "cached" {
    priority = 1
    set      = { kv_cache = "on" }
    criterion "decode" {
      rule = "chat.tg.gain >= 1.0"
    }
  }
  # As fast, but part of its cache is stale: it answers the smoke test, its log is fine,
  # and correctness fails. It is not measured.
  feature "fast_and_wrong" {
    priority  = 2
    builds_on = baseline
    set       = { kv_cache = "stale", experts = "all" }
    criterion "decode" {
      rule = "chat.tg.gain >= 1.0"
    }
  }
  # Correct and fast, but it leaks half a megabyte per request.
  feature "leaks" {
    priority  = 3
    builds_on = baseline
    set       = { kv_cache = "leaky", experts = "all" }
    criterion "decode" {
      rule = "chat.tg.gain >= 1.0"
    }
  }
  # Decodes several times as fast, but its prefill computes every expert: tg alone would
  # let it pass, TTFT does not.
  feature "trades_ttft" {
    priority  = 4
    builds_on = baseline
    set       = { kv_cache = "on", experts = "all" }
    criterion "decode" {
      rule = "chat.tg.gain >= 1.0"
    }
  }

  gate {
    rule "the good port is in" {
      rule = "feature['cached'].accepted"
    }
    rule "the wrong one was caught" {
      rule = "feature['fast_and_wrong'].levels.correctness == 'fail'"
    }
    rule "the leak was caught" {
      rule = "feature['leaks'].levels.stress == 'fail'"
    }
    rule "the trade was caught" {
      rule = "feature['trades_ttft'].verdict == 'fail'"
    }
  }
}
