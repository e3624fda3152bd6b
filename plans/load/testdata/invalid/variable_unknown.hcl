plan "p" {
  summary = "For ${var.modle}" # ERROR: Unknown variable
}
variable "model" {
  default = "m"
}
