plan "observed" {}
engine "embedded" "tiny" {
  observe "tactic" {
    type = "string"
  }
}
knob "moe" {
  default = "all"
  changes = CHANGES
  value "all" {
    must_see { log = ["*all*"] }
  }
  value "routed" {
    must_see { observed = MUST }
  }
}
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
phase "one" {
  feature "f" {
    set = { moe = "routed" }
    criterion "c" { rule = "RULE" }
  }
}
