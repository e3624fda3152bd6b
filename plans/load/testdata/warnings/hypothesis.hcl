# The claim is about decoding, and prefill is tested.
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
    hypothesis { # WARNING: Hypothesis is not tested
      metric  = "chat.tg"
      expect  = "+10%"
      because = "it should"
    }
    criterion "c0" {
      rule = "chat.pp.gain >= 0.1"
    }
    criterion "c1" {
      rule = "engine.startup_s <= 90"
    }
  }
}
