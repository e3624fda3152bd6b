plan "p" {}
workload "chat" {
  for_each      = ["a", "b", "a"] # ERROR: Duplicate key in for_each
  prompt_tokens = 8
  output_tokens = 8
}
