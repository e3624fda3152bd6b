# What the launches of this folder are of. The plans beside it differ in their
# decision block alone.
engine "embedded" "tiny" {
  settings = { threads = 1 }
}
knob "change" {
  default = "off"
  value "off" {
    env = { CHANGE = "off" }
    must_see { log = ["*change off*"] }
  }
  value "on" {
    env = { CHANGE = "on" }
    must_see { log = ["*change on*"] }
  }
}
workload "chat" {
  prompt_tokens = 48
  output_tokens = 24
  requests      = 400
  warmup        = 1
}
protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
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
phase "p_gain" {
  feature "gain" {
    set = { change = "on" }
    criterion "it" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
phase "p_loss" {
  feature "loss" {
    set = { change = "on" }
    criterion "it" {
      rule = "chat.tg >= 0.97 * chat.tg.base"
    }
  }
}
phase "p_later" {
  feature "later" {
    set = { change = "on" }
    criterion "it" {
      rule = "chat.ttft.change < 0.05"
    }
  }
}
phase "p_sooner" {
  feature "sooner" {
    set = { change = "on" }
    criterion "it" {
      rule = "chat.ttft.gain >= 0.2"
    }
  }
}
phase "p_tail" {
  feature "tail" {
    set = { change = "on" }
    criterion "it" {
      rule = "chat.ttft.p95 <= 1.05 * chat.ttft.base.p95"
    }
  }
}
phase "p_level" {
  feature "level" {
    set = { change = "on" }
    criterion "it" {
      rule = "chat.tg >= 32"
    }
  }
}
phase "p_delta" {
  feature "delta" {
    set = { change = "on" }
    criterion "it" {
      rule = "chat.e2e.delta <= 20"
    }
  }
}
phase "p_queue" {
  feature "queue" {
    set = { change = "on" }
    criterion "it" {
      rule = "chat.queue <= 3"
    }
  }
}
phase "p_set" {
  feature "set" {
    set = { change = "on" }
    criterion "gain" {
      rule = "chat.tg.gain >= 0.1"
    }
    criterion "later" {
      rule = "chat.ttft.change < 0.05"
    }
    criterion "delta" {
      rule = "chat.e2e.delta <= 20"
    }
  }
}
phase "p_any" {
  feature "any" {
    set = { change = "on" }
    criterion "one_of_three" {
      rule = "chat.tg.gain >= 0.1 or chat.ttft.gain >= 0.2 or chat.e2e.delta <= 20"
    }
    criterion "level" {
      rule = "chat.tg >= 32"
    }
  }
}
phase "p_nested" {
  feature "nested" {
    set = { change = "on" }
    criterion "it" {
      rule = "(chat.tg.gain >= 0.1 and (chat.ttft.change < 0.05 and not (chat.e2e.delta > 20 or chat.queue > 3))) or chat.pp.change >= 0.5"
    }
  }
}
phase "p_mixed" {
  feature "mixed" {
    set = { change = "on" }
    criterion "it" {
      rule = "chat.tg >= 0.97 * chat.tg.base and engine.memory_gb.delta <= 1 and (chat.ttft.gain >= 0.2 or engine.crashes <= 0)"
    }
    criterion "memory" {
      rule = "gpu.memory_gb < 80"
    }
    criterion "share" {
      rule = "engine.memory_gb.change <= 0.05"
    }
  }
}
