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
    settings = { cachesize = 3 }
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

knob "size" {
  default = "none"
  value "none" {}
  value "small" {
    settings = { layers = 1 }
  }
  value "large" {
    settings = { layers = 2, width = 9 }
  }
}

protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = engine.openai.first
  protocol = protocol.quick
}

engine "openai" "first" {
  process {
    command = ["serve", "--port", "{port}"]
  }
}

phase "port" {
  feature "set" {
    set = { cache = "on" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = engine.embedded.tiny # ERROR: Knob cannot reach the confirming engine
    }
  }
  feature "chosen" {
    choose = { size = ["small", "large"] }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = engine.embedded.tiny # ERROR: Knob cannot reach the confirming engine
    }
  }
  feature "reaches" {
    set = { spec = "long" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = engine.embedded.tiny
    }
  }
}
