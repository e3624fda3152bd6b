plan "p" {}
locals {
  title = "T"
}
locals {
  title = "U" # ERROR: Duplicate local
}
