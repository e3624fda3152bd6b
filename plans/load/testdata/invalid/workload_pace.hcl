plan "p" {}
workload "numbers" {
  prompt_tokens   = 8
  output_tokens   = 8
  concurrency     = [0, 4] # ERROR: Invalid concurrency
  rate            = [1, 1.0, "2"] # ERROR: Duplicate value in rate | Wrong type for rate
  arrival         = "bursty" # ERROR: Invalid arrival
  max_concurrency = 0 # ERROR: Invalid max_concurrency
  duration        = "0s" # ERROR: Invalid duration
  depth           = [-1] # ERROR: Invalid depth
}
workload "two_loops" {
  prompt_tokens = 8
  output_tokens = 8
  concurrency   = 4 # ERROR: Conflicting arguments
  rate          = 2
}
workload "closed" {
  prompt_tokens   = 8
  output_tokens   = 8
  arrival         = "constant" # ERROR: Argument has no effect
  max_concurrency = 8 # ERROR: Argument has no effect
}
workload "few" {
  prompt_tokens = 8
  output_tokens = 8
  concurrency   = [1, 16]
  requests      = 10 # ERROR: Too few requests for the concurrency
}
workload "cells" { # ERROR: Too many cells
  prompt_tokens = [1, 2, 3, 4, 5, 6, 7, 8]
  output_tokens = [1, 2, 3, 4, 5, 6, 7, 8]
  depth         = [1, 2, 3, 4, 5, 6, 7, 8]
  concurrency   = [1, 2, 3, 4, 5, 6, 7, 8]
}
