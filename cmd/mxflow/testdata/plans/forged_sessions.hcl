# What TestForgedSessions and TestIndependentVerifier edit: a benchmark, a comparison, and what a
# program printed.

plan "sessions" {}

# A pace, so that a busy machine reads tokens one by one.
engine "embedded" "tiny" {
  settings = { layers = 1 }
  env      = { MXFLOW_EMBEDDED_PACE = "2ms" }
}

engine "embedded" "deep" {
  settings = { layers = 2 }
  env      = { MXFLOW_EMBEDDED_PACE = "2ms" }
}

knob "kv_cache" {
  default = "off"
  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off" }
    must_see { log = ["*using kernel full_prefix_attention_recompute*"] }
  }
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see { log = ["*using kernel decode_attention_kvcache*"] }
  }
  value "garbage" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_FAULT = "garbage" }
    must_see { log = ["*using kernel decode_attention_kvcache*"] }
  }
}

workload "chat" {
  prompt_tokens = 16
  output_tokens = 24
  requests      = 6
  warmup        = 1
  max_lag       = "1m"
}

protocol "measured" {
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
    launches  = 2
  }
}

protocol "asked" {
  level "smoke" {
    expect = "Paris"
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.measured
}

phase "port" {
  feature "cached" {
    set = { kv_cache = "on" }
    criterion "c" { rule = "chat.tg.gain >= 0" }
  }
  feature "wrong" {
    set = { kv_cache = "garbage" }
    criterion "c" { rule = "chat.tg.gain >= 0" }
  }
}

phase "beside" {
  step "compare" "engines" {
    engines   = [engine.embedded.tiny, engine.embedded.deep]
    reference = engine.embedded.tiny
    workloads = [workload.chat]
    protocol  = protocol.asked
    launches  = 2
  }
}

phase "scored" {
  step "exec" "score" {
    command = ["echo", "{\"right\":12}"]
    metric "score" {
      jq     = ".right / 16"
      unit   = "share"
      better = "higher"
    }
  }
}
