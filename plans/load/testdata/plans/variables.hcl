plan "p" {}
variable "threads" {
  type = number
}
variable "sizes" {
  type    = list(number)
  default = []
}
variable "port" {
  type = object({
    name  = string
    least = optional(number, 0.05)
  })
  default = { name = "x" }
}
variable "token" {
  type      = string
  default   = ""
  sensitive = true
}
variable "limit" {
  type    = number
  default = 7

}
