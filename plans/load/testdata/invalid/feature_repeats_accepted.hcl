# What is accepted is known only in a run; a knob that no other feature touches has the
# baseline's value in every stack.
plan "p" {}

engine "embedded" "tiny" {}

workload "chat" {
  prompt_tokens = 64
  output_tokens = 32
}

knob "cache" {
  default = "off"
  value "off" {}
  value "on" {
    settings = { kv_cache = true }
  }
}

knob "moe" {
  default = "all"
  value "all" {}
  value "routed" {
    settings = { moe = "routed" }
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
    set = { moe = "routed" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}

phase "again" {
  after = [phase.port]

  # a may be in the stack, or not.
  feature "b" {
    set       = { moe = "all" }
    builds_on = accepted
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "c" {
    set       = { cache = "off" } # ERROR: Knob value does not change
    builds_on = accepted
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
