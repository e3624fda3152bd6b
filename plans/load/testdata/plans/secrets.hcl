plan "p" {}
variable "token" {
  type      = string
  sensitive = true
}
variable "db" {
  type      = object({ user = string, password = string, tls = bool })
  sensitive = true
  default   = null
}
locals {
  header = "Bearer ${var.token}"
  parts  = split("-", var.token)
  first  = local.parts[0]
}
engine "embedded" "tiny" {
  env = {
    AUTH  = local.header
    FIRST = local.first
    SET   = "${nonsensitive(var.token != "")}"
    MADE  = sensitive(env("FROM_ENV"))
    PASS  = try(var.db.password, "")
  }
  args = ["--token=${var.token}"]
}
