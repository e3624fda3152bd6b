# How bench.hcl is measured.

variable "launches" {
  type    = number
  default = null
}

protocol "script" {
  level "kernels" {}
  level "benchmark" { launches = var.launches }
}

baseline {
  engine   = engine.command.bench
  protocol = protocol.script
}
