plan "p" {
  summary = local.titel # ERROR: Unknown local
}
locals {
  title = "T"
  title2 = local # ERROR: Incomplete reference
}
