# More requests than the engine runs at once.
plan "p" {}
engine "vllm" "small" {
  settings = { max_num_seqs = 2 }
}
workload "many" { # WARNING: Concurrency above the engine's limit
  prompt_tokens = 512
  output_tokens = 32
  concurrency   = [1, 2, 4]
}
workload "open" {
  prompt_tokens   = 512
  output_tokens   = 32
  rate            = 4
  max_concurrency = 4
}
protocol "standard" {
  level "benchmark" {
    workloads = [workload.many, workload.open]
  }
}
baseline {
  engine   = engine.vllm.small
  protocol = protocol.standard
}
