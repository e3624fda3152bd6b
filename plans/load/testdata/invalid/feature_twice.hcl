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
  feature "cached" {
    set = { cache = "on" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
phase "two" {
  feature "cached" { # ERROR: Duplicate feature
    set = { cache = "on" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
