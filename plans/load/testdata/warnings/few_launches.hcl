# The first look is at four, unless noise is recorded.
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
  level "benchmark" { # WARNING: Too few launches
    workloads = [workload.chat]
    launches  = 3
  }
}
protocol "two" {
  level "smoke" {
    prompt = "?"
    expect = "!"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" { # WARNING: Too few launches
    workloads = [workload.chat]
    launches  = 2
  }
}
protocol "counted" {
  level "smoke" {
    prompt = "?"
    expect = "!"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat]
    launches  = 1
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
  feature "two" {
    set      = { moe = "routed" }
    protocol = protocol.two
    criterion "c0" {
      rule = "chat.tg >= 1.05 * chat.tg.base or engine.crashes == 0"
    }
  }
  feature "counted" {
    set      = { moe = "routed" }
    protocol = protocol.counted
    criterion "c0" {
      rule = "engine.crashes == 0 and engine.memory_gb <= 80"
    }
  }
}
