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
  feature "self" {
    set       = { cache = "on" }
    builds_on = feature.self # ERROR: Feature builds on itself
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "child" {
    set       = { cache = "on" }
    builds_on = feature.parnt # ERROR: Unknown feature
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "text" {
    set       = { cache = "on" }
    builds_on = "baseline" # ERROR: Not a reference
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "phase" {
    set       = { cache = "on" }
    builds_on = phase.port # ERROR: Wrong kind of reference
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
