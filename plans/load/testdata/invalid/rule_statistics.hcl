# What statistics do not decide, each with the nearest form that they do.
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
      rule = "chat.tg == 31.5" # ERROR: Equal to a measurement
    }
    criterion "c1" {
      rule = "chat.tg.base == chat.tg" # ERROR: Equal to a measurement
    }
    criterion "c2" {
      rule = "chat.tg in [30, 31.5]" # ERROR: Equal to a measurement
    }
    criterion "c3" {
      rule = "chat.error_rate == 0" # ERROR: Equal to a measurement
    }
    criterion "c4" {
      rule = "abs(chat.tg.change) <= 0.02" # ERROR: Not allowed in a rule
    }
    criterion "c5" {
      rule = "max(chat.ttft, chat.e2e) <= 500" # ERROR: Not allowed in a rule
    }
    criterion "c6" {
      rule = "chat.tg / chat.pp > 2" # ERROR: Arithmetic in a rule
    }
    criterion "c7" {
      rule = "chat.tg.gain >= chat.pp.gain" # ERROR: Different measurements compared
    }
    criterion "c8" {
      rule = "chat.tg * chat.pp > 2" # ERROR: Arithmetic in a rule
    }
    criterion "c9" {
      rule = "chat.tg / (1 - chat.error_rate) >= 30" # ERROR: Arithmetic in a rule
    }
    criterion "c10" {
      rule = "chat.tg / (engine.crashes + 1) >= 30" # ERROR: Arithmetic in a rule
    }
    criterion "c11" {
      rule = "chat.tg >= 0.9 * chat.tg.base + 5" # ERROR: Arithmetic in a rule
    }
    criterion "c12" {
      rule = "chat.tg.base >= chat.tg.root" # ERROR: Different measurements compared
    }
    criterion "c13" {
      rule = "chat.tg - 2 * chat.tg + chat.tg >= 0" # ERROR: Arithmetic in a rule
    }
    criterion "c14" {
      rule = "chat.tg / 0 >= 1" # ERROR: Arithmetic in a rule
    }
    criterion "c15" {
      rule = "chat.tg.gain <= -1" # ERROR: Comparison can never hold
    }
    criterion "c16" {
      rule = "chat.ttft.gain >= 1" # ERROR: Comparison can never hold
    }
    criterion "c17" {
      rule = "chat.ttft.gain < 5" # ERROR: Comparison always holds
    }
    criterion "c18" {
      rule = "chat.tg >= -1 * chat.tg.base" # ERROR: Comparison always holds
    }
    criterion "c19" {
      rule = "not (chat.tg.change > -1)" # ERROR: Comparison can never hold
    }
  }
  feature "other" {
    set = { moe = "routed" }
    criterion "c0" {
      rule = "chat.tg.gain >= 0.1"
    }
    hypothesis {
      metric  = "chat.ttft"
      expect  = "+5%"
      because = "it does more"
    }
  }
  feature "child" {
    set       = { moe = "all" }
    builds_on = feature.other
    criterion "c0" {
      rule = "chat.tg.gain >= 0.1"
    }
    hypothesis {
      metric  = "chat.ttft"
      expect  = "-100%" # ERROR: Comparison can never hold
      because = "nothing is left to do"
    }
  }
  gate {
    rule "two of one phase" {
      rule = "feature['routed'].chat.tg.gain > feature['other'].chat.tg.gain" # ERROR: Different measurements compared
    }
    rule "child and parent" {
      rule = "feature['child'].chat.tg >= feature['other'].chat.tg" # ERROR: Different measurements compared
    }
  }
}
