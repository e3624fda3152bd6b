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
  feature "cached" {
    set = { cache = "on" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  gate {
    rule "faster" {
      rule = "" # ERROR: Empty rule
    }
    rule "faster" { # ERROR: Duplicate rule
      rule = "chat.tg.gain >= 0.05"
    }
    rule " padded " { # ERROR: Invalid rule name
      rule = "chat.tg.gain >= 0.05"
    }
    rule "none" { # ERROR: Missing rule
    }
    rule "bare" {
      rule = chat.tg.gain >= 0.05 # ERROR: Rule is not in quotes
    }
    rule "bare call" {
      rule = abs(chat.tg.change) <= 0.05 # ERROR: Rule is not in quotes
    }
    rule "variable" {
      rule = "chat.tg.gain >= ${var.least}" # ERROR: Unknown variable
    }
  }
  gate { # ERROR: Duplicate gate block
  }
}
