plan "p" {}
locals {
  a = local.b
  b = "${local.c}!"
  c = local.a # ERROR: Cycle of locals
  d = local.d # ERROR: Cycle of locals
}
