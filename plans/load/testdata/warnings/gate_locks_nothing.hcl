# The second phase was meant to come after the first.
plan "p" {}
engine "embedded" "tiny" {}
knob "moe" {
  default = "all"
  value "all" {
    must_see { log = ["*all experts*"] }
  }
  value "routed" {
    must_see { log = ["*routed experts*"] }
  }
}
workload "chat" {
  prompt_tokens = 512
  output_tokens = 32
}
protocol "standard" {
  level "smoke" {
    prompt = "?"
    expect = "!"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
phase "port" {
  feature "routed" {
    set = { moe = "routed" }
    criterion "c0" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  gate { # WARNING: Gate locks nothing
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
  }
}
phase "announce" {
  step "exec" "announce" {
    command = ["true"]
  }
}
phase "last" {
  after = [phase.announce]
  step "exec" "more" {
    command = ["true"]
  }
}
