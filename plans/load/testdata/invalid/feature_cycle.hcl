plan "p" {}

engine "embedded" "tiny" {}

workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}

knob "cache" {
  default = "off"
  value "off" {}
  value "on" {
    settings = { kv_cache = true }
  }
}

protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.quick
}

phase "port" {
  feature "a" {
    set       = { cache = "on" }
    builds_on = feature.b # ERROR: Cycle of features
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "b" {
    set       = { cache = "off" }
    builds_on = feature.a
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
