plan "p" {}
workloads "chat" { # ERROR: Unsupported block type
  prompt_tokens = 64
}
model = "m" # ERROR: Unsupported argument
