plan "s" {}
engine "embedded" "tiny" {}
knob "k" {
  default = "off"
  value "off" {}
  value "one" { env = { K = "1" } }
  value "two" { env = { K = "2" } }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
  coherence     = "off"
}
protocol "p" {
  level "benchmark" { workloads = [workload.w] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "one" {
  feature "x" {
    set = { k = "one" }
    criterion "c" { rule = "w.tg.gain >= 0.10" }
  }
  feature "y" {
    set = { k = "two" }
    criterion "c" { rule = "w.tg.gain >= 0.10" }
  }
}
