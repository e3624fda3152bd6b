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

knob "spec" {
  default = "none"
  value "none" {}
  value "short" {
    env = { SPEC = "3" }
  }
  value "long" {
    env = { SPEC = "9" }
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
  feature "unknown" {
    choose = { spec = ["short", "long"] }
    prefer = "chat.gt" # ERROR: Unknown metric
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "no_direction" {
    choose = { spec = ["short", "long"] }
    prefer = "chat.output_tokens" # ERROR: No better direction
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "statistic" {
    choose = { spec = ["short", "long"] }
    prefer = "chat.tg.gain" # ERROR: Unknown address
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "nothing_compared" {
    choose = { spec = ["short", "long"] } # ERROR: No metric to choose by
    criterion "fast" {
      rule = "chat.tg >= 100"
    }
  }
  feature "not_in_accept" {
    choose = { spec = ["short", "long"] } # ERROR: No metric to choose by
    accept = ["fast"]
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    criterion "fast" {
      rule = "chat.tg >= 100"
    }
  }
  feature "rule_is_wrong" {
    choose = { spec = ["short", "long"] }
    criterion "decode" {
      rule = "chat.gt.gain >= 0.1" # ERROR: Unknown metric
    }
  }
  feature "fine" {
    choose = { spec = ["short", "long"] }
    prefer = "chat.ttft"
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
