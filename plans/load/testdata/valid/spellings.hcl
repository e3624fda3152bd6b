plan "p" {}
variable "n" {
  type    = number
  default = 2
}
locals {
  common = { A = "1", B = "2" }
}
engine "embedded" "tiny" {
  env      = { A = "1", B = "2" }
  settings = { layers = var.n }
}
workload "chat" {
  prompt_tokens = 8
  output_tokens = [1, 2]
}
protocol "standard" {
  level "smoke" {
    prompt = "a"
    expect = "$${b}"
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}
knob "k" {
  default = "off"
  value "off" {}
  value "on" { env = { X = null, Y = "2" } }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
phase "a" {
  step "exec" "one" { command = ["true"] }
  step "exec" "two" { command = ["true", "2"] }
  feature "f" {
    set       = { k = "on" }
    builds_on = accepted
    criterion "c" { rule = "chat.o1.tg.gain >= 0.1" }
  }
}
phase "b" {
  after = [phase.a]
  gate {
    rule "r" { rule = "feature[\"f\"].decided" }
  }
}
