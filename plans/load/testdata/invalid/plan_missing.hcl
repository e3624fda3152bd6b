workload "chat" { # ERROR: Missing plan block
  prompt_tokens = 64
  output_tokens = 16
}
