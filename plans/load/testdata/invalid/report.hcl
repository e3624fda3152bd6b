# Columns that are no value of a row, and what a plan requires of its features.
plan "p" {
  require = ["hypothesis", "thanks"] # ERROR: Invalid require
}
engine "embedded" "tiny" {}
knob "moe" {
  default = "all"
  value "all" {
    must_see { log = ["*all experts*"] }
  }
  value "routed" {
    env = { MOE = "routed" }
    must_see { log = ["*routed experts*"] }
  }
}
workload "chat" {
  prompt_tokens = 16
  output_tokens = [8, 16]
}
protocol "p" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "benchmark" { workloads = [workload.chat] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
report {
  columns = [
    "chat.tg8",
    "chat.tg", # ERROR: Which cell?
    "chat.o8.speed", # ERROR: Unknown metric
    "target.llamacpp.chat.tg", # ERROR: Not a value of a row
    "feature.routed.chat.tg8", # ERROR: Not a value of a row
    "levels.correctness.kl", # ERROR: Level not in the protocol
    { column = "engine.startup_s", heading = "Startup" },
    { column = "engine.startup_s", name = "Startup" }, # ERROR: Unknown part of a column
    { heading = "Startup" }, # ERROR: Column without an address
    7, # ERROR: Not text
  ]
  table "power" {
    columns = "gpu.power_w" # ERROR: Wrong type for columns
  }
  table "power" { # ERROR: Duplicate table
    columns = ["gpu.power_w"]
  }
}
phase "one" {
  feature "routed" { # ERROR: Required of every feature
    set = { moe = "routed" }
    criterion "decode" { rule = "chat.tg8.gain >= 0.1" }
  }
}
