# A script that needs a secret and prints it, for scenarios of executors.

variable "key" {
  type      = string
  sensitive = true
}

engine "command" "script" {
  env = { KEY = var.key }
  process {
    command = ["sh", "-c", "echo with $KEY >&2; echo \"{\\\"tg\\\": $((100 * $${#KEY} + $$ % 50)), \\\"key\\\": \\\"$KEY\\\"}\""]
  }
  metric "tg" {
    jq     = ".tg"
    unit   = "tok/s"
    better = "higher"
  }
}

knob "any" {
  default = "off"
  value "off" {}
  value "on" { env = { ANY = "1" } }
}

protocol "script" {
  level "benchmark" { launches = 4 }
}

decision { launches = { min = 4, max = 8 } }

baseline {
  engine   = engine.command.script
  protocol = protocol.script
}

phase "one" {
  feature "any" {
    set = { any = "on" }
    criterion "length" { rule = "command.tg >= 1000" }
  }
}
