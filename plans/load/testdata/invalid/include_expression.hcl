include = [var.team] # ERROR: Invalid include
plan "p" {}
variable "team" {
  default = "x.hcl"
}
