# What the rules of plan.hcl should say to these values: each is shown able to pass
# and able to fail, without starting an engine.
#
#   mxflow test examples/quickstart/plan.hcl

case "a cache that pays is accepted" {
  feature = feature.kv_cache
  set     = { "chat.tg.gain" = 2.4 }
  expect  = "pass"
}

case "a cache that hardly pays is refused" {
  feature = feature.kv_cache
  set     = { "chat.tg.gain" = 0.1 }
  expect  = "fail"
}

case "an unknown speed is no gain" {
  gate         = phase.cache
  set          = { "levels.kernels" = "pass", "chat.tg.gain" = 2.4 }
  expect       = "inconclusive"
  expect_rules = { "decode is faster" = "pass", "whole answers come sooner" = "inconclusive" }
}

case "the gate of the cache opens" {
  gate = phase.cache
  set = {
    "levels.kernels" = "pass"
    "chat.tg.gain"   = 2.4
    "chat.e2e.gain"  = 0.7
  }
  expect = "pass"
}

# A fast engine on the wrong path has proved nothing.
case "no speed makes up for the wrong kernels" {
  gate = phase.cache
  set = {
    "levels.kernels" = "fail"
    "chat.tg.gain"   = 2.4
    "chat.e2e.gain"  = 0.7
  }
  expect       = "invalid"
  expect_rules = { "kernel path proven" = "fail" }
}

case "faster tokens that come too late" {
  gate = phase.cache
  set = {
    "levels.kernels" = "pass"
    "chat.tg.gain"   = 0.1
    "chat.e2e.gain"  = 0.05
  }
  expect = "fail"
  expect_rules = {
    "decode is faster"          = "fail"
    "whole answers come sooner" = "fail"
  }
}

case "routed experts pay on top of the cache" {
  feature = feature.routed_moe
  set     = { "chat.tg.gain" = 0.6 }
  expect  = "pass"
}

case "routed experts that do not pay" {
  feature = feature.routed_moe
  set     = { "chat.tg.gain" = 0.05 }
  expect  = "fail"
}

# root is the plan's baseline, which the stack has long left behind.
case "the gate of the experts opens" {
  gate = phase.experts
  set = {
    "levels.kernels"    = "pass"
    "chat.tg.gain"      = 0.6
    "chat.tg.root.gain" = 4.4
  }
  expect = "pass"
}

case "faster than the baseline, but not than the stack" {
  gate = phase.experts
  set = {
    "levels.kernels"    = "pass"
    "chat.tg.gain"      = 0.05
    "chat.tg.root.gain" = 2.6
  }
  expect = "fail"
  expect_rules = {
    "faster than the stack it builds on" = "fail"
    "faster than the baseline"           = "pass"
  }
}

case "a stack that has lost what the cache had won" {
  gate = phase.experts
  set = {
    "levels.kernels"    = "pass"
    "chat.tg.gain"      = 0.6
    "chat.tg.root.gain" = 0.3
  }
  expect = "fail"
  expect_rules = {
    "faster than the stack it builds on" = "pass"
    "faster than the baseline"           = "fail"
  }
}

case "experts on the wrong kernels" {
  gate = phase.experts
  set = {
    "levels.kernels"    = "fail"
    "chat.tg.gain"      = 0.6
    "chat.tg.root.gain" = 4.4
  }
  expect       = "invalid"
  expect_rules = { "kernel path proven" = "fail" }
}
