plan "p" {}
variable "model" { # ERROR: Missing value for variable
  type = string
}
