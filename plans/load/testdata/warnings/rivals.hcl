# Values of one knob on one parent are alternatives of one feature.
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
  value "grouped" {
    must_see { log = ["*grouped experts*"] }
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
phase "one" {
  feature "routed" {
    set = { moe = "routed" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "grouped" { # WARNING: Rivals for one knob
    set = { moe = "grouped" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
