plan "p" {}
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
knob "cache" {
  default = "off"
  value "off" {} # ERROR: Unproven knob value
  value "on" { # ERROR: Unproven knob value
    settings = { kv_cache = true }
  }
  value "paged" {
    settings = { kv_cache = true }
  }
}
protocol "standard" {
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
phase "port" {
  feature "cached" {
    set = { cache = "on" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
