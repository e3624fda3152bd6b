plan "p" {
  summary = "one"
  summary = "two" # ERROR: Attribute redefined
}
workload "chat" {
  prompt_tokens = "64" # ERROR: Wrong type for prompt_tokens
  output_tokens = 16
}
