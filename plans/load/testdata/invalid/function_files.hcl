plan "p" {}
locals {
  a = file("../../../go.mod")       # ERROR: Error in function call
  b = file("/etc/hostname")         # ERROR: Error in function call
  c = file("no_such_file.txt")      # ERROR: Error in function call
  e = env("MXFLOW_NEVER_SET")       # ERROR: Error in function call
  f = try(file("no_such_file.txt"), "fine")
  g = env("MXFLOW_NEVER_SET", "fine")
  h = file("..")                    # ERROR: Error in function call
  i = try(local.f.x, local.g[0])    # ERROR: Error in function call
}
