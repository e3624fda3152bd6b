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

phase "check" {
  after = [workload.chat] # ERROR: Wrong kind of reference
  step "exec" "look" {
    command = ["true"]
  }
}
phase "port" {
  feature "cached" {
    set      = { cache = "on" }
    protocol = phase.check # ERROR: Wrong kind of reference
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
