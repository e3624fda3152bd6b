plan "p" {}
locals {
  none = 0
  some = [for n in [2, 1, 0] : 8 / n] # ERROR: Number too large
  safe = local.none == 0 ? 1 : 8 / local.none
}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 8
  requests      = 8 / local.none # ERROR: Number too large
  warmup        = pow(10, 400)   # ERROR: Number too large
  temperature   = log(-1, 2)     # ERROR: Error in function call
  top_p         = 1e300 * 1e300  # ERROR: Number too large
  arrival       = indent(-1, "") # ERROR: Error in function call
}
