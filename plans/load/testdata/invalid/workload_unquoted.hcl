plan "p" {}
workload "chat" {
  prompt_tokens   = 64
  output_tokens   = 16
  api             = chat # ERROR: Unknown name
}
