# Both have to hold, and cannot.
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
      rule = "chat.tg >= 20 and chat.tg.median <= 10" # WARNING: Rules contradict each other
    }
    criterion "c1" {
      rule = "chat.pp >= 200"
    }
    criterion "c2" {
      rule = "chat.pp < 200" # WARNING: Rules contradict each other
    }
    criterion "c4" {
      rule = "chat.itl <= 0.97 * chat.itl.base and not (chat.itl.change < -0.02)" # WARNING: Rules contradict each other
    }
    criterion "c3" {
      rule = "chat.e2e > 5 or chat.e2e < 3"
    }
  }
  gate {
    rule "the kernel path is proven" {
      expr = "levels.kernels == 'pass'"
    }
    rule "decode is faster" {
      expr = "chat.tg >= 1.05 * chat.tg.base"
    }
    rule "and not by much" {
      expr = "chat.tg.gain <= 0.03" # WARNING: Rules contradict each other
    }
    rule "or at least prefill is" {
      expr = "chat.tg.gain < 0.02 or levels.kernels == 'fail'" # WARNING: Rules contradict each other
    }
    rule "fits" {
      expr = "engine.memory_gb < 80"
    }
    rule "uses what there is" {
      expr = "engine.memory_gb > 90" # WARNING: Rules contradict each other
    }
    rule "what a criterion wants need not hold here" {
      expr = "chat.pp < 100"
    }
  }
}
