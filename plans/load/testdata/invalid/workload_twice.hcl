plan "p" {}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
workload "chat" { # ERROR: Duplicate workload
  prompt_tokens = 128
  output_tokens = "16" # ERROR: Wrong type for output_tokens
}
