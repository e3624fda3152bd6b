plan "p" {}
variable "requests" {
  type    = number
  default = "ten" # ERROR: Wrong type for variable
}
variable "names" {
  type    = list(strng) # ERROR: Invalid type specification
  default = []
}
variable "other" {
  default = "${var.requests}0" # ERROR: Default is not constant
}
