# Everything that can be said of what is sent.
plan "workloads" {}

engine "embedded" "tiny" {}

knob "cache" {
  default = "off"
  value "off" {
    must_not_see {
      log = ["*kv cache on*"]
    }
  }
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see {
      log = ["*kv cache on*"]
    }
  }
}

workload "grid" {
  prompt_tokens = [512, 2048]
  output_tokens = [32]
  depth         = [0, 4096]
  depth_cached  = true
  concurrency   = [1, 4, 16]
  requests      = 32
  top_p         = 0.9
  top_k         = 40
  min_p         = 0.05
  temperature   = 0.7

  repetition_penalty = 1.1
}

workload "serving" {
  api             = "chat"
  count_template  = false
  turns           = 3
  system_tokens   = 256
  rate            = [1, 2.5]
  arrival         = "constant"
  max_concurrency = 64
  duration        = "2m"
  ignore_eos      = false
  retries         = 2
  max_errors      = 1
  max_lag         = "5ms"

  prompt_lengths {
    distribution = "lognormal"
    mean         = 512
    std          = 300
    min          = 16
  }
  output_lengths {
    distribution = "uniform"
    min          = 16
    max          = 128
  }
  slo {
    ttft = "300ms"
    tpot = "50ms"
  }
}

workload "random" {
  prompt_tokens = 1024
  output_tokens = 64
  concurrency   = 8
  requests      = 100
  duration      = "30s"
  warmup        = 0
  coherence     = "off"
}

workload "file" {
  rate   = 0.25
  warmup = 1
  dataset {
    file = "prompts.jsonl"
  }
}

suite "quick" {
  summary   = "Whether it is worth more"
  workloads = [workload.file]
}

suite "full" {
  workloads = [workload.grid, workload.serving, workload.random, workload.file]
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
    workloads = [workload.grid, workload.serving]
  }
}

protocol "tiers" {
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    suite = suite.quick
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "port" {
  feature "cached" {
    set = { cache = "on" }
    criterion "cell" {
      rule = "grid.p512.o32.d4096.c16.tg_total.gain >= 0.1 and grid.p2048.o32.d0.c1.ttft.p90 <= 500"
    }
    criterion "fraction" {
      rule = "serving.r2_5.goodput.delta > 0 and serving.r1.ttft.p99 <= 800"
    }
    criterion "machine" {
      rule = "gpu.power_w.change <= 0.05 and host.cpu_share < 0.9"
    }
  }
  feature "tiered" {
    set      = { cache = "on" }
    protocol = protocol.tiers
    criterion "file" {
      rule = "file.tg.gain > 0.05"
    }
    criterion "other" {
      rule = "random.tg_total > 10" # WARNING: Not sent by this suite
    }
  }
}
