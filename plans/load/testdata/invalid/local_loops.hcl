plan "p" {}
locals {
  n = [1, 2, 3]
  m = [for a in local.n : [for b in local.n : a]] # ERROR: Loop within a loop
}
