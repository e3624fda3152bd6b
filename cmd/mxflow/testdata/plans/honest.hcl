# Ports of the embedded engine that do their work, under every kind of load: what
# mxflow knows of cheats must find nothing in them. TestHonest applies it.

plan "honest" {}

variable "port" { type = string }

locals {
  # What the parent has, and what is under test.
  ports = {
    nothing     = { off = {}, on = {} }
    cache       = { off = { MXFLOW_EMBEDDED_KV_CACHE = "off" }, on = { MXFLOW_EMBEDDED_KV_CACHE = "on" } }
    experts     = { off = { MXFLOW_EMBEDDED_MOE = "all" }, on = { MXFLOW_EMBEDDED_MOE = "routed" } }
    format      = { off = { MXFLOW_EMBEDDED_KV_FORMAT = "f32" }, on = { MXFLOW_EMBEDDED_KV_FORMAT = "int8" } }
    speculation = { off = {}, on = { MXFLOW_EMBEDDED_SPECULATION = "prompt_lookup:8" } }
    threads     = { off = {}, on = {} }
    prefixes    = { off = {}, on = { MXFLOW_EMBEDDED_PREFIX_CACHE = "on" } }
  }
  port = local.ports[var.port]
}

engine "embedded" "tiny" {
  settings = { layers = 2 }
}

knob "port" {
  default = "off"
  value "off" {
    env = merge({ MXFLOW_HONEST = "off" }, local.port.off)
  }
  value "on" {
    env      = merge({ MXFLOW_HONEST = "on" }, local.port.on)
    settings = { threads = var.port == "threads" ? 2 : 1 }
  }
  changes = ["attention", "moe_kernel", "kv_cache_dtype", "prefix_cache", "speculation"]
}

workload "plain" {
  prompt_tokens = 48
  output_tokens = 24
  max_lag       = "1m"
}

workload "chat" {
  api           = "chat"
  prompt_tokens = 48
  output_tokens = 24
  max_lag       = "1m"
}

workload "busy" {
  prompt_tokens = 48
  output_tokens = 24
  concurrency   = [4]
  requests      = 12
  max_lag       = "1m"
}

workload "hot" {
  prompt_tokens = 48
  output_tokens = 24
  temperature   = 0.8
  max_lag       = "1m"
}

workload "deep" {
  prompt_tokens = 32
  output_tokens = 16
  depth         = [128]
  max_lag       = "1m"
}

workload "talk" {
  api           = "chat"
  prompt_tokens = 32
  output_tokens = 16
  turns         = 3
  requests      = 4
  max_lag       = "1m"
}

workload "drawn" {
  prompt_lengths {
    distribution = "uniform"
    min          = 24
    max          = 96
  }
  output_lengths {
    distribution = "uniform"
    min          = 8
    max          = 32
  }
  max_lag = "1m"
}

workload "ends" {
  prompt_tokens = 48
  output_tokens = 32
  ignore_eos    = false
  max_lag       = "1m"
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "benchmark" {
    workloads = [workload.plain, workload.chat, workload.busy, workload.hot, workload.deep, workload.talk, workload.drawn, workload.ends]
    launches  = 4
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "port" {
  feature "port" {
    set = { port = "on" }
    criterion "decodes" {
      rule = "plain.tg.gain >= -0.99"
    }
  }
}
