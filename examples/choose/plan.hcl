# Which of three ways to decode? Three alternatives of one feature are measured in
# one session against the same launches of the baseline, and at most one enters the
# stack: of those that pass, the one with the largest gain in the metric that prefer
# names. The cache alone helps, and so do routed experts; both together win.
#
#   mxflow plan examples/choose/plan.hcl     # what would be launched
#   mxflow apply examples/choose/plan.hcl
#   mxflow explain feature.decode examples/choose/plan.hcl
#
# exit status: 0

plan "choose" {
  summary = "Find the way of decoding that is worth keeping"
}

engine "embedded" "tiny" {
  settings = {
    threads = 1
  }
}

knob "decode" {
  summary = "What is kept of past tokens, and which experts are computed"
  default = "plain"

  value "plain" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off", MXFLOW_EMBEDDED_MOE = "all" }
    must_see {
      log = ["*using kernel full_prefix_attention_recompute*", "*using kernel moe_all_experts*"]
    }
  }
  value "routed" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off", MXFLOW_EMBEDDED_MOE = "routed" }
    must_see {
      log = ["*using kernel full_prefix_attention_recompute*", "*using kernel moe_routed*"]
    }
  }
  value "cached" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_MOE = "all" }
    must_see {
      log = ["*using kernel decode_attention_kvcache*", "*using kernel moe_all_experts*"]
    }
  }
  value "both" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_MOE = "routed" }
    must_see {
      log = ["*using kernel decode_attention_kvcache*", "*using kernel moe_routed*"]
    }
  }
}

workload "chat" {
  prompt_tokens = 32
  output_tokens = 24
  requests      = 3
  warmup        = 1
  max_lag       = "1s" # engine and client share processors here
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
    launches  = 4 # per arm: enough for effects as large as these
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "decoding" {
  feature "decode" {
    choose = { decode = ["routed", "cached", "both"] }
    prefer = "chat.tg"

    criterion "faster" {
      rule = "chat.tg.gain >= 0.25"
    }
  }

  # The rule reads the winner.
  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    rule "decode is faster" {
      rule = "chat.tg.gain >= 0.25"
    }
  }
}
