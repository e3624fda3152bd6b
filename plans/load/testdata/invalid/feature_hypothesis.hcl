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
    set = { cache = "on" }
    hypothesis { # ERROR: Missing because
      metric = "chat tg" # ERROR: Invalid metric address
      expect = "10%" # ERROR: Invalid expectation
    }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "b" {
    set = { cache = "on" }
    hypothesis {
      metric  = "chat.tg"
      expect  = "faster" # ERROR: Invalid expectation
      because = " " # ERROR: Empty because
    }
    hypothesis { # ERROR: Duplicate hypothesis block
    }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
