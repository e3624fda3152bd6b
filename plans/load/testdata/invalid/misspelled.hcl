plan "p" {}
engine "embeded" "tiny" {} # ERROR: Unknown engine kind
workload "chat" {
  promt_tokens  = 64 # ERROR: Unsupported argument
  output_tokens = 8
}
protocol "quick" {
  level "benchmark" {
    workload = [workload.chat] # ERROR: Unsupported argument
  }
}
knob "cache" {
  defaults = "off" # ERROR: Unsupported argument
  value "off" {}
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
  }
}
baseline {
  engine    = engine.embedded.tiny
  protocoll = protocol.quick # ERROR: Unsupported argument
}
phase "one" {
  feature "cached" {
    sets = { cache = "on" } # ERROR: Unsupported argument
    criterion "decode" {
      rul = "chat.tg.gain >= 0.05" # ERROR: Unsupported argument
    }
  }
}
variable "n" {
  default = 1
  validation {
    condition     = var.n > 0
    error_mesage = "no" # ERROR: Unsupported argument
  }
}
