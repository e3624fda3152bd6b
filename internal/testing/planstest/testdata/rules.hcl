plan "rules" {}
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
  prompt_tokens = 2048
  output_tokens = 32
}
workload "outs" {
  prompt_tokens = 64
  output_tokens = [32, 64]
}
workload "lens" {
  prompt_tokens = [128, 512]
  output_tokens = [16, 32]
}
workload "unsent" {
  prompt_tokens = 1
  output_tokens = 1
}
target "llamacpp" {
  metrics = { chat = { pp = 2449.83, tg = 57.85 } }
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
    workloads = [workload.chat, workload.outs, workload.lens]
  }
}
protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
phase "one" {
  feature "first" {
    set = { moe = "routed" }
    criterion "decode" { rule = "chat.tg.gain >= 0.1" }
  }
}
phase "two" {
  after = [phase.one]
  feature "second" {
    set = { moe = "routed" }
    criterion "decode" { rule = "chat.tg.gain >= 0.1" }
  }
  feature "third" {
    set      = { moe = "routed" }
    protocol = protocol.quick
    criterion "decode" { rule = "chat.tg.gain >= 0.1" }
  }
}
phase "three" {
  after_decided = [phase.two]
  feature "fourth" {
    set = { moe = "routed" }
    criterion "decode" { rule = "chat.tg.gain >= 0.1" }
  }
}
phase "empty" {
  after = [phase.three]
  step "exec" "build" { command = ["true"] }
}
