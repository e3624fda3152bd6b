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
    set = { cahce = "on" } # ERROR: Unknown knob
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "b" {
    set = { cache = "onn" } # ERROR: Unknown knob value
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "c" {
    set = { cache = true } # ERROR: Not text
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "d" {
    set = { cache = on } # ERROR: Unknown name
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
