plan "generated" {}
locals {
  ports = [for i in range(1000) : "p${i}"]
}
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
protocol "standard" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
knob "k" {
  default = "off"
  value "off" {}
  dynamic "value" {
    for_each = local.ports
    labels   = [value.value]
    content {
      env = { K = value.value }
    }
  }
}
phase "all" {
  feature "f" {
    for_each = local.ports
    set      = { k = each.value }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
