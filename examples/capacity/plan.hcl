# The capacity of a server, and what a faster one adds, in three minutes. Its steps take a stated
# time, so capacities hardly depend on what else the machine does.
#
# exit status: 0
# feature.kv_cache: pass
# phase.capacity: pass

plan "capacity" {
  summary = "How many requests a second a server carries, and what a KV cache adds to that"
}

engine "embedded" "tiny" {}

knob "kv_cache" {
  default = "off"
  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off", MXFLOW_EMBEDDED_PACE = "16ms" }
    must_see {
      log = ["*full_prefix_attention_recompute*"]
    }
  }
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_PACE = "8ms" }
    must_see {
      log = ["*decode_attention_kvcache*"]
    }
  }
}

workload "chat" {
  summary       = "Short questions: half of them get their first token within 300 ms"
  prompt_tokens = 16
  output_tokens = 3
  max_lag       = "100ms"
  slo {
    ttft = "300ms"
  }
  capacity {
    percentile = 50
    probe      = "2s"
    warmup     = "500ms"
    drain      = "2s"
    probes     = 6
    start      = 24
  }
}

protocol "quick" {
  level "smoke" {
    pattern = "."
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat]
    launches  = 4
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.quick
}

phase "capacity" {
  feature "kv_cache" {
    set = { kv_cache = "on" }
    criterion "more" {
      rule = "chat.capacity.gain >= 20%"
    }
  }
  gate {
    rule "enough" {
      rule = "chat.capacity >= 3"
    }
  }
}
