plan "p" {}
workload "chat" "short" { # ERROR: Extraneous label for workload
  prompt_tokens = 64
}
