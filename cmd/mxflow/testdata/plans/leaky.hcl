# A plan that hands a secret to whatever may show it: a step that prints it and fails, and an engine that
# prints it and dies. TestSecretsAreNowhere applies it.

plan "leaky" { summary = "secrets stay where they belong" }
variable "token" {
  type      = string
  sensitive = true
}

variable "user" { default = "bob" }
locals {
  header = "Bearer ${var.token}"
  pair   = base64encode("${var.user}:${var.token}")
}

engine "openai" "sh" {
  process {
    command = ["sh", "-c", "printenv; printf '%s\n' \"$1\"; printf '%s' \"u:$1\" | base64; exit 7", "sh", var.token]
  }
  env  = { AUTH = local.header, PAIR = local.pair }
  args = ["--token=${var.token}", urlencode(var.token), jsonencode({ t = var.token })]
  ready { timeout = "5s" }
}

protocol "quick" {
  level "smoke" {
    prompt = "my token is ${var.token}"
    expect = "Paris"
  }
}

knob "k" {
  default = "off"
  value "off" {}
  value "on" { env = { OTHER = upper(var.token) } }
}

baseline {
  engine   = engine.openai.sh
  protocol = protocol.quick
}

phase "steps" {
  step "exec" "leak" {
    command = ["sh", "-c", "printenv; echo \"$T\" >&2; echo \"${"$"}T\" | sed 's/^/x/'; exit 3"]
    env     = { T = var.token }
  }
}
