plan "p" {
  summary = "${feature.x.gain} ${chat.tg.gain}" # ERROR: A reference has no attributes | Unknown name
}
workload "chat" {
  prompt_tokens = 8
  output_tokens = 8
}
target "t" {
  metrics = { chat = { tg = workload.chat.tg } } # ERROR: A reference has no attributes
}
locals {
  a = baseline.chat.tg # ERROR: A reference has no attributes
  b = baseline.tg      # ERROR: A reference has no attributes
  c = workload.chat.prompt_tokens # ERROR: A reference has no attributes
}
engine "embedded" "tiny" {}
protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.quick
}
knob "k" {
  default = "off"
  value "off" {}
  value "on" {}
}
phase "one" {
  feature "x" {
    set = { k = "on" }
    criterion "decode" {
      rule = "chat.tg.gain > 0"
    }
  }
}
