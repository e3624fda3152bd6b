plan "p" {}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
knob "cache" {
  default = "off"
  value "off" {}
  value "on" {}
}
protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}
phase "port" {
  feature "cached" { # ERROR: Missing baseline
    set      = { cache = "on" }
    protocol = protocol.quick
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
