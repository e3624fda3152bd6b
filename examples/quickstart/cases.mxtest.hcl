# What the rules of plan.hcl should say, given these measurements: each is shown
# able to pass and able to fail, without starting an engine.
#
#   mxflow test examples/quickstart/plan.hcl

# A plausible result on a laptop: four launches per arm, interleaved.
case "a cache that pays is accepted" {
  feature = feature.kv_cache
  launches = {
    "chat.tg"          = { base = [24.1, 23.6, 24.4, 23.9], candidate = [176, 181, 174, 179] }
    "engine.memory_gb" = { base = 0.05, delta = 0.01 }
  }
  expect = "pass"
}

case "twice as fast is not enough where launches differ by a tenth" {
  feature = feature.kv_cache
  launches = {
    "chat.tg"          = { gain = 1.05, spread = 0.1, launches = 8 }
    "engine.memory_gb" = { base = 0.05, delta = 0.01 }
  }
  expect       = "inconclusive"
  expect_rules = { memory = "pass" }
}

case "a cache that hardly pays is refused" {
  feature = feature.kv_cache
  launches = {
    "chat.tg"          = { gain = 0.8 }
    "engine.memory_gb" = { base = 0.05, delta = 0.01 }
  }
  expect       = "fail"
  expect_rules = { decode = "fail" }
}

case "a cache that takes all memory is refused" {
  feature = feature.kv_cache
  launches = {
    "chat.tg"          = { gain = 6 }
    "engine.memory_gb" = { base = 0.05, delta = 0.5 }
  }
  expect       = "fail"
  expect_rules = { memory = "fail" }
}

case "one launch shows nothing yet" {
  feature = feature.kv_cache
  launches = {
    "chat.tg"          = { gain = 6, launches = 1 }
    "engine.memory_gb" = { base = 0.05, delta = 0 }
  }
  expect = "inconclusive"
}

case "the gate of the cache opens" {
  gate   = phase.cache
  levels = { smoke = "pass", kernels = "pass", benchmark = "pass" }
  launches = {
    "chat.tg"  = { gain = 6 }
    "chat.e2e" = { gain = 0.7 }
  }
  expect = "pass"
}

# A fast engine on the wrong path has proved nothing.
case "no speed makes up for the wrong kernels" {
  gate   = phase.cache
  broken = "kernels"
  launches = {
    "chat.tg"  = { gain = 6 }
    "chat.e2e" = { gain = 0.7 }
  }
  expect       = "invalid"
  expect_rules = { "kernel path proven" = "fail" }
}

case "faster tokens that come too late" {
  gate   = phase.cache
  levels = { kernels = "pass" }
  launches = {
    "chat.tg"  = { gain = 0.9 }
    "chat.e2e" = { gain = 0.2 }
  }
  expect = "fail"
  expect_rules = {
    "decode is at least twice as fast" = "fail"
    "whole answers come sooner"        = "fail"
  }
}

case "routed experts pay on top of the cache" {
  feature  = feature.routed_moe
  launches = { "chat.tg" = { gain = 0.6 } }
  expect   = "pass"
}

case "routed experts that do not pay" {
  feature  = feature.routed_moe
  launches = { "chat.tg" = { gain = 0.1 } }
  expect   = "fail"
}

# root is the plan's baseline, which the stack has long left behind.
case "the gate of the experts opens" {
  gate     = phase.experts
  levels   = { kernels = "pass" }
  launches = { "chat.tg" = { root = 24, base = 177, candidate = 283 } }
  expect   = "pass"
}

case "faster than the baseline, but not than the stack" {
  gate     = phase.experts
  levels   = { kernels = "pass" }
  launches = { "chat.tg" = { root = 24, base = 177, candidate = 185 } }
  expect   = "fail"
  expect_rules = {
    "faster than the stack it builds on" = "fail"
    "faster than the baseline"           = "pass"
  }
}

case "a stack that has lost what the cache had won" {
  gate     = phase.experts
  levels   = { kernels = "pass" }
  launches = { "chat.tg" = { root = 24, base = 25, candidate = 40 } }
  expect   = "fail"
  expect_rules = {
    "faster than the stack it builds on" = "pass"
    "faster than the baseline"           = "fail"
  }
}

case "experts on the wrong kernels" {
  gate         = phase.experts
  broken       = "kernels"
  launches     = { "chat.tg" = { root = 24, base = 177, candidate = 283 } }
  expect       = "invalid"
  expect_rules = { "kernel path proven" = "fail" }
}
