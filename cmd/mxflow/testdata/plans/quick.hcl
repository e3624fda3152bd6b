# A port of the embedded engine in one launch of few tokens, for scenarios whose engine block
# is their own.

variable "rule" { default = "levels.kernels == 'pass'" }

knob "cache" {
  default = "off"
  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off", ARM = "off" }
    must_see { log = ["*using kernel full_prefix_attention_recompute*"] }
  }
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on", ARM = "on" }
    must_see { log = ["*using kernel decode_attention_kvcache*"] }
  }
}

workload "chat" {
  max_lag       = "1m"
  prompt_tokens = 8
  output_tokens = 4
  requests      = 1
  warmup        = 0
}

protocol "quick" {
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
    launches  = 1
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.quick
}

phase "port" {
  feature "on" {
    set = { cache = "on" }
    criterion "proven" { rule = var.rule }
  }
}
