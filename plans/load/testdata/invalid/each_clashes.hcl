plan "p" {}
workload "chat_short" {
  prompt_tokens = 8
  output_tokens = 8
}
workload "chat" { # ERROR: Duplicate workload
  for_each      = ["short"]
  prompt_tokens = 8
  output_tokens = 8
}
