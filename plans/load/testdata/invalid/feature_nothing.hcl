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
  feature "a" { # ERROR: Missing set
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "b" {
    set = {} # ERROR: Nothing under test
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "c" {
    set = { cache = "off" } # ERROR: Knob value does not change
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "d" { # ERROR: Feature without criterion
    set = { cache = "on" }
  }
}
