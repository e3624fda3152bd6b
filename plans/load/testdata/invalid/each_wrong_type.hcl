plan "p" {}
workload "chat" {
  for_each      = 3 # ERROR: Wrong type for for_each
  prompt_tokens = 8
  output_tokens = 8
}
workload "lengths" {
  for_each      = [16, 64] # ERROR: Wrong type for for_each
  prompt_tokens = 8
  output_tokens = each.value
}
