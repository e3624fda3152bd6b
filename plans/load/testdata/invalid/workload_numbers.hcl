plan "p" {}
workload "chat" {
  prompt_tokens = 0 # ERROR: Invalid prompt_tokens
  output_tokens = [32, 64, 32] # ERROR: Duplicate value in output_tokens
  requests      = 2.5 # ERROR: Invalid requests
  warmup        = -1 # ERROR: Invalid warmup
  temperature   = -0.5 # ERROR: Invalid temperature
  seed          = "random" # ERROR: Wrong type for seed
  api           = "responses" # ERROR: Invalid api
  ignore_eos    = "no" # ERROR: Wrong type for ignore_eos
  stall_timeout = "0s" # ERROR: Invalid duration
}
workload "long" {
  prompt_tokens = [] # ERROR: Empty prompt_tokens
  output_tokens = ["32"] # ERROR: Wrong type for output_tokens
}
workload "none" { # ERROR: Missing prompt_tokens
  output_tokens = null # ERROR: Missing output_tokens
}
