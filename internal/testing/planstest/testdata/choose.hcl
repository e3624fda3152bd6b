plan "v" {}
engine "embedded" "tiny" {}
engine "embedded" "wide" { settings = { threads = 2 } }
knob "a" {
  default = "off"
  value "off" {}
  value "on" { env = { A = "on" } }
}
knob "size" {
  default = "none"
  value "none" {}
  value "small" { settings = { layers = 3 } }
  value "large" { settings = { layers = 4 } }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
}
protocol "p" {
  level "benchmark" { workloads = [workload.w] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "one" {
  feature "sized" {
    set    = { a = "on" }
    choose = { size = ["small", "large"] }
    criterion "c" { rule = "w.tg.gain >= 0.1" }
    confirm { engine = engine.embedded.wide }
  }
  feature "stacked" {
    set       = { a = "off" }
    builds_on = accepted
    criterion "c" { rule = "w.tg.gain >= 0.1" }
  }
  feature "child" {
    set       = { a = "off" }
    builds_on = feature.sized
    criterion "c" { rule = "w.tg.gain >= 0.1" }
  }
}
