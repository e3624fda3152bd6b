plan "p" {}
locals {
  names = [for w in [workload.chat] : "x"]
}
workload "chat" {
  for_each      = local.names # ERROR: Cycle of for_each
  prompt_tokens = 8
  output_tokens = 8
}
