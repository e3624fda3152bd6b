# A p99 of ten requests is nothing; of tokens there are more.
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
      rule = "chat.ttft.p99 <= 500" # WARNING: Too few requests
    }
    criterion "c1" {
      rule = "chat.itl.p99 <= 50"
    }
    criterion "c2" {
      rule = "chat.ttft.p90 <= 500 and chat.tg > 5" # WARNING: Too few requests
    }
    criterion "c3" {
      rule = "chat.ttft.p50 <= 500"
    }
  }
}
