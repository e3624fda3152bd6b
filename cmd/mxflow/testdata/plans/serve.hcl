# What ab and bisect ask of an embedded engine, which scenarios copy, include and give a source
# or an image.

workload "chat" {
  max_lag       = "1m"
  prompt_tokens = 16
  output_tokens = 16
  requests      = 4
  warmup        = 1
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "correctness" {
    prompts       = 16
    output_tokens = 8
    max_kl        = 0.00001
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
