plan "p" {}
workloads "chat" { # ERROR: Unsupported block type
  prompt_tokens = 64
  output_tokens = 32
}
model = "m" # ERROR: Unsupported argument
