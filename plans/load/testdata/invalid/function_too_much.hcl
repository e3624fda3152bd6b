plan "p" {}
locals {
  k = "${format("%2000d", 1)}"
  a = range(1000000)                              # ERROR: Error in function call
  b = format("%9999999d", 1)                      # ERROR: Error in function call
  c = setproduct(range(1000), range(1000))        # ERROR: Error in function call
  d = join(substr(local.k, 0, 20), [for i in range(1000) : tostring(i)])
  e = replace(local.d, " ", local.d)              # ERROR: Error in function call
  f = [for i in range(1000) : local.d]            # ERROR: Plan evaluates to too much
  g = distinct(concat(range(1000), range(1000), range(1000))) # ERROR: Error in function call
  h = pow(9, 99999)                               # ERROR: Error in function call
  i = [for i in range(1000) : format("%20000d", i)] # ERROR: Error in function call
  j = indent(1000000, "a\nb")                     # ERROR: Error in function call
}
