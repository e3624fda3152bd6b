plan "p" {}
engine "openai" "a" {}
knob "k" {
  default = "on"
  value "on" {}
  value "off" { env = { A = "b" } }
}
protocol "full" {
  level "kernels" {}
}
baseline {
  engine   = engine.openai.a
  protocol = protocol.full
}
phase "p1" {
  feature "f" {
    set = { k = "off" }
  }
  gate {}
}
