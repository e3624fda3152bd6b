plan "p" {}
workload "chat" { # ERROR: Duplicate workload
  for_each      = ["a", "b"]
  name          = "chat"
  prompt_tokens = 8
  output_tokens = 8
}
workload "chat_x" {
  prompt_tokens = 8
  output_tokens = 8
}
workload "chat_x" { # ERROR: Duplicate workload
  prompt_tokens = 8
  output_tokens = 8
}
