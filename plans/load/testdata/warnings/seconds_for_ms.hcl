# Latencies are in milliseconds, and half a second was meant.
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
      rule = "chat.ttft <= 0.5" # WARNING: Implausible for the unit
    }
    criterion "c1" {
      rule = "0.2 >= chat.ttft.max" # WARNING: Implausible for the unit
    }
    criterion "c2" {
      rule = "chat.itl <= 0.5"
    }
    criterion "c3" {
      rule = "chat.tpot <= 0.02" # WARNING: Implausible for the unit
    }
    criterion "c4" {
      rule = "chat.ttft.delta <= 0.5"
    }
    criterion "c5" {
      rule = "chat.ttft.cv <= 0.1"
    }
  }
}
