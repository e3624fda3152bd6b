# A number to beat that could be of any cell stays open.
plan "p" {}
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 512
  output_tokens = [32, 128]
}
protocol "standard" {
  level "smoke" {
    prompt = "?"
    expect = "!"
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
target "named" {
  metrics = { "chat.o32" = { tg = 57.85 }, chat = { tg128 = 50 } }
}
target "any" { # WARNING: Target of several cells
  metrics = { chat = { tg = 57.85 } }
}
target "ruled" {
  metrics = { chat = { ttft = 50 } }
}
knob "moe" {
  default = "all"
  value "all" {}
  value "routed" {}
}
phase "port" {
  feature "routed" {
    set = { moe = "routed" }
    criterion "first" {
      rule = "chat.o32.ttft <= target.ruled.chat.ttft"
    }
  }
}
