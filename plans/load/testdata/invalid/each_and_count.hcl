plan "p" {}
workload "chat" {
  for_each      = ["a"]
  count         = 2 # ERROR: for_each and count
  prompt_tokens = 8
  output_tokens = 8
}
