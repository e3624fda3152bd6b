plan "p" {}
workload "numbers" {
  prompt_tokens      = 8
  output_tokens      = 8
  turns              = 0 # ERROR: Invalid turns
  system_tokens      = -1 # ERROR: Invalid system_tokens
  depth_cached       = 1 # ERROR: Wrong type for depth_cached
  top_p              = 1.5 # ERROR: Invalid top_p
  top_k              = -1 # ERROR: Invalid top_k
  min_p              = 2 # ERROR: Invalid min_p
  repetition_penalty = -1 # ERROR: Invalid repetition_penalty
  coherence          = "none" # ERROR: Invalid coherence
  retries            = -1 # ERROR: Invalid retries
  max_errors         = 0.5 # ERROR: Invalid max_errors
  max_lag            = 10 # ERROR: Wrong type for max_lag
  slo { # ERROR: Missing ttft
  }
}
workload "talk" {
  prompt_tokens = 8
  output_tokens = 8
  turns         = 3 # ERROR: Argument has no effect
}
workload "system" {
  prompt_tokens = 8
  output_tokens = 8
  system_tokens = 64 # ERROR: Argument has no effect
}
workload "template" {
  prompt_tokens  = 8
  output_tokens  = 8
  count_template = false # ERROR: Argument has no effect
}
workload "nothing_cached" {
  prompt_tokens = 8
  output_tokens = 8
  depth         = [0]
  depth_cached  = true # ERROR: Argument has no effect
}
workload "likeliest" {
  prompt_tokens = 8
  output_tokens = 8
  top_k         = 40 # WARNING: Sampling has no effect
}
workload "limits" {
  prompt_tokens = 8
  output_tokens = 8
  slo {
    ttft = "soon" # ERROR: Invalid duration
    tps  = "1s" # ERROR: Unsupported argument
  }
}
