# The start-up time is in seconds, memory in GB.
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
      rule = "engine.startup_s <= 60000" # WARNING: Implausible for the unit
    }
    criterion "c1" {
      rule = "engine.memory_gb <= 65536" # WARNING: Implausible for the unit
    }
    criterion "c2" {
      rule = "engine.memory_gb.delta <= 1"
    }
  }
}
