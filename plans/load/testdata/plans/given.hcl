plan "p" {}
variable "key" {
  type      = string
  sensitive = true
}
variable "user" { default = "nobody" }
variable "text" { default = "" }
variable "sizes" {
  type    = list(number)
  default = []
}
variable "maybe" {
  type    = map(object({ a = number, b = optional(string, "x") }))
  default = null
}
variable "unused" { default = 1 }
locals { name = "${var.user}!" }
engine "embedded" "tiny" {
  EXPR
}
