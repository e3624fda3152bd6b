# A benchmark that is a script: bench.sh of the scenario, which is told its kernel and its
# speed. Plans of scenarios include it.

variable "speed" {
  type    = number
  default = 200
}

variable "see" { default = "*using kernel gemm*" }

engine "command" "bench" {
  process { command = ["sh", "bench.sh"] }
  metric "tg" {
    jq     = ".tg"
    unit   = "tok/s"
    better = "higher"
  }
}

knob "kernel" {
  default = "slow"
  value "slow" {
    env = { KERNEL = "reference", SPEED = "100" }
    must_see { log = ["*using kernel reference*"] }
  }
  value "fast" {
    env = { KERNEL = "gemm", SPEED = tostring(var.speed) }
    must_see { log = [var.see] }
  }
}
