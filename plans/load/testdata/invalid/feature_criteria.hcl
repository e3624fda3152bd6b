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
    criterion "decode" {
      rule = "  " # ERROR: Empty rule
    }
    criterion " first token" { # ERROR: Invalid rule name
      rule = "chat.ttft.gain >= 0"
    }
    criterion "typo" { # ERROR: Missing rule
      condition = "chat.tg.gain >= 0" # ERROR: Unsupported argument
    }
    criterion "former name" {
      expr = "chat.tg.gain >= 0" # ERROR: Unsupported argument
    }
    criterion "number" {
      rule = 0.1 # ERROR: Wrong type for rule
    }
  }
}
