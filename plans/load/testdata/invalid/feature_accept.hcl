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
    set    = { cache = "on" }
    accept = ["decod", "decode", "decode"] # ERROR: Unknown criterion | Duplicate criterion in accept
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "b" {
    set    = { cache = "on" }
    accept = [] # a trial
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "c" {
    set    = { cache = "on" }
    accept = "decode" # ERROR: Wrong type for accept
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
