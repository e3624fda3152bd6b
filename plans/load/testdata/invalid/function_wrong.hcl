plan "p" {
  summary = uper("x") # ERROR: Call to unknown function
}
locals {
  a = uuid()            # ERROR: Call to unknown function
  b = regex("(", "x")   # ERROR: Invalid function argument
  c = tonumber("x")     # ERROR: Invalid function argument
  d = jsondecode("{")   # ERROR: Error in function call
  e = element([], 0)    # ERROR: Error in function call
  f = length(3)         # ERROR: Invalid function argument
  g = formatdate("YYYY", "yesterday") # ERROR: Invalid function argument
}
