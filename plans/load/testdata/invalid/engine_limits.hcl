# What the engine's own settings forbid, and what knobs make of them.
plan "p" {}
engine "vllm" "small" {
  settings = {
    max_num_seqs  = 2
    max_model_len = 4096
  }
}
knob "context" {
  default = "short"
  value "short" {
    must_see { log = ["*short*"] }
  }
  value "long" {
    settings = { max_model_len = 8192 }
    must_see { log = ["*long*"] }
  }
}
workload "open" {
  prompt_tokens   = 512
  output_tokens   = 32
  rate            = 4
  max_concurrency = 4
}
workload "long" { # ERROR: Requests above the engine's context length
  prompt_tokens = 4096
  output_tokens = 100
  depth         = [0, 4096]
}
workload "fits" {
  prompt_tokens = 4096
  output_tokens = 4096
}
workload "talk" { # ERROR: Requests above the engine's context length
  api           = "chat"
  turns         = 10
  output_tokens = 500
  prompt_lengths {
    distribution = "uniform"
    min          = 10
    max          = 400
  }
}
protocol "standard" {
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.open, workload.long, workload.fits, workload.talk]
  }
}
baseline {
  engine   = engine.vllm.small
  protocol = protocol.standard
}
phase "port" {
  feature "long" {
    set = { context = "long" }
    criterion "c" {
      rule = "fits.tg.gain >= 0.1"
    }
  }
}
