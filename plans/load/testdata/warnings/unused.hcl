# Declared, and used nowhere.
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
workload "other" { # WARNING: Unused workload
  prompt_tokens = 1
  output_tokens = 1
}
workload "rounds" { # WARNING: Unused workload
  for_each      = ["a", "b"]
  prompt_tokens = 1
  output_tokens = 1
}
engine "openai" "second" { # WARNING: Unused engine
  process {
    command = ["serve"]
  }
}
knob "cache" { # WARNING: Unused knob
  default = "off"
  value "off" {
    must_see { log = ["*cache off*"] }
  }
}
target "llamacpp" {
  metrics = { chat = { tg = 57.85 } }
}
target "vllm" {
  metrics = { chat = { tg = 40 } }
}
protocol "quick" { # WARNING: Unused protocol
  level "benchmark" {
    workloads = [workload.chat]
  }
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
      rule = "chat.tg >= target.vllm.chat.tg"
    }
  }
}
