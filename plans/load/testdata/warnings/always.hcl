# These decide nothing.
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
      rule = "chat.tg > -1" # WARNING: Comparison always holds
    }
    criterion "c1" {
      rule = "engine.crashes >= 0" # WARNING: Comparison always holds
    }
    criterion "c2" {
      rule = "-2 * chat.tg < 1" # WARNING: Comparison always holds
    }
    criterion "c3" {
      rule = "0 <= chat.output_tokens" # WARNING: Comparison always holds
    }
    criterion "c5" {
      rule = "not (chat.tg < 0)" # WARNING: Comparison always holds
    }
  }
}
