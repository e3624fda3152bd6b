# A gain is a ratio.
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
      rule = "chat.tg.gain >= 10" # WARNING: Implausible for the unit
    }
    criterion "c1" {
      rule = "chat.e2e.change <= 5" # WARNING: Implausible for the unit
    }
    criterion "c2" {
      rule = "chat.tg.cv < 5" # WARNING: Implausible for the unit
    }
    criterion "c3" {
      rule = "chat.pp.root.gain >= 1.5"
    }
  }
}
