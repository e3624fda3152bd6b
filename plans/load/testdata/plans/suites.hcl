plan "p" {}
workload "a" {
  prompt_tokens = 8
  output_tokens = 8
}
workload "b" {
  prompt_tokens = 8
  output_tokens = 8
}
suite "quick" {
  workloads = [workload.b]
}
suite "full" {
  workloads = [workload.a, workload.b]
}
protocol "listed" {
  level "benchmark" {
    workloads = [workload.a]
  }
}
protocol "tier" {
  level "benchmark" {
    suite = suite.full
  }
}
protocol "command" {
  level "benchmark" {
    launches = 3
  }
}
