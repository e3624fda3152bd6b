plan "gates" {}
engine "embedded" "tiny" {}
knob "moe" {
  default = "all"
  value "all" {
    env = { MOE = "all" }
    must_see { log = ["*all experts*"] }
  }
  value "routed" {
    env = { MOE = "routed" }
    must_see { log = ["*routed experts*"] }
  }
}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
  requests      = 300
}
target "other" {
  metrics = { chat = { tg = 57.85 } }
}
protocol "standard" {
  level "smoke" {}
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
phase "one" {
  feature "f" {
    set = { moe = "routed" }
    criterion "c" { rule = "chat.tg.gain > 0" }
  }
  gate {
    rule "r" {
      rule = RULE
    }
  }
}
