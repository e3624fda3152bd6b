plan "p" {}
protocol "empty" {} # ERROR: Protocol without levels
protocol "quick" {
  level "smok" { # ERROR: Unknown level
    prompt = "Hello"
  }
  level "kernels" {
    from = ["log", "trce"] # ERROR: Invalid from
  }
  level "benchmark" {
    workloads = [workload.chta] # ERROR: Unknown workload
  }
  level "benchmark" { # ERROR: Duplicate level
    workloads = [workload.chat]
  }
}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
