# Would the gate of plan.hcl pass if the port cost nothing? A gate that can only
# fail tests nothing.
#
#   mxflow test examples/rejected/plan.hcl

case "what it was hoped to be" {
  feature      = feature.recompute
  set          = { "chat.tg.gain" = 0, "engine.memory_gb.change" = -0.2 }
  expect       = "pass"
  expect_rules = { memory = "pass" }
}

case "what it turned out to be" {
  feature      = feature.recompute
  set          = { "chat.tg.gain" = -0.92, "engine.memory_gb.change" = -0.2 }
  expect       = "fail"
  expect_rules = { memory = "pass" }
}

# memory is recorded and does not decide: see accept.
case "more memory, and not slower" {
  feature      = feature.recompute
  set          = { "chat.tg.gain" = 0, "engine.memory_gb.change" = 0.2 }
  expect       = "pass"
  expect_rules = { memory = "fail" }
}

case "the gate opens for a port that costs nothing" {
  gate   = phase.save_memory
  set    = { "levels.kernels" = "pass", "chat.tg.gain" = 0 }
  expect = "pass"
}

case "the gate stays shut where decoding regressed" {
  gate   = phase.save_memory
  set    = { "levels.kernels" = "pass", "chat.tg.gain" = -0.06 }
  expect = "fail"
}

# A port that silently falls back to the old kernel loses nothing and proves nothing.
case "a port that fell back to the old kernel" {
  gate         = phase.save_memory
  set          = { "levels.kernels" = "fail", "chat.tg.gain" = 0 }
  expect       = "invalid"
  expect_rules = { "kernel path proven" = "fail" }
}
