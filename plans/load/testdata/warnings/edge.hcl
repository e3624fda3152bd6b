# No launches show a measurement to be at the very end, or one number.
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
  slo {
    ttft = "1s"
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
      rule = "chat.slo_attainment >= 1" # WARNING: Can only be inconclusive
    }
    criterion "c1" {
      rule = "not (chat.error_rate > 0)" # WARNING: Can only be inconclusive
    }
    criterion "c3" {
      rule = "engine.memory_gb >= 30 and engine.memory_gb <= 30"
    }
    criterion "c4" {
      rule = "chat.errors <= 0 and chat.slo_attainment >= 0.99"
    }
  }
}
