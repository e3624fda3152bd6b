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

phase "one" {
  feature "a" {
    set       = { cache = "on" }
    builds_on = feature.b # ERROR: Cycle of phases
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
phase "two" {
  after = [phase.one]
  feature "b" {
    set = { cache = "on" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
