# No measurement satisfies these.
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
      rule = "not (chat.tg >= 0)" # WARNING: Comparison can never hold
    }
    criterion "c1" {
      rule = "0 > 2 * chat.ttft" # WARNING: Comparison can never hold
    }
    criterion "c2" {
      rule = "engine.crashes < 0" # WARNING: Comparison can never hold
    }
    criterion "c3" {
      rule = "chat.tg.n >= 9" # WARNING: Comparison can never hold
    }
    criterion "c4" {
      rule = "chat.tg < 0 or chat.pp > 100" # WARNING: Comparison can never hold
    }
    criterion "c5" {
      rule = "engine.crashes <= 0"
    }
  }
}
