plan "p" {}
workload "chat" { # ERROR: Key cannot be part of a name
  for_each      = ["eagle3-short"]
  prompt_tokens = 8
  output_tokens = 8
}
