plan "p" {
  summary = "${feature.x.gain} ${chat.tg.gain}" # ERROR: Only known after measuring | Only known after measuring
}
workload "chat" {
  prompt_tokens = 8
  output_tokens = 8
}
target "t" {
  metrics = { chat = { tg = workload.chat.tg } } # ERROR: Only known after measuring
}
locals {
  a = baseline.chat.tg # ERROR: Only known after measuring
  b = baseline.tg      # ERROR: Only known after measuring
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
