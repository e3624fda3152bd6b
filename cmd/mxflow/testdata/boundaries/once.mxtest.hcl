# Cases that lie just on either side of what decides: a level of p, the chance of
# a verdict below which a test is given up, the screen, a limit of memory. What they
# should come to, here and number by number in boundaries.json, was worked out from
# docs/statistics.md by a program that shares nothing with mxflow (Python, the tail
# of t by the incomplete beta function) and is not kept.

case "gain: screen, short of it" {
  feature = feature.gain
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [30.785221], candidate = [25.415021] }
  }
  noise = { "chat.tg" = { sd = 0.004, df = 8 } }
}

case "loss: screen, short of it" {
  feature = feature.loss
  expect  = "inconclusive"
  launches = {
    "chat.tg" = { base = [29.478269], candidate = [21.449234] }
  }
}

case "later: screen, short of it" {
  feature = feature.later
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [251.08509], candidate = [351.39901] }
  }
}

case "sooner: screen, short of it" {
  feature = feature.sooner
  expect  = "inconclusive"
  launches = {
    "chat.ttft" = { base = [249.6006], candidate = [265.87631] }
  }
}

case "tail: screen, short of it" {
  feature = feature.tail
  expect  = "inconclusive"
  launches = {
    "chat.ttft.p95" = { base = [251.40278], candidate = [351.81317] }
  }
  noise = { "chat.ttft.p95" = { sd = 0.05, df = 7 } }
}

case "level: screen, beyond" {
  feature = feature.level
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [29.434146], candidate = [23.996645] }
  }
  noise = { "chat.tg" = { sd = 0.05, df = 7 } }
}

case "gain: screen, beyond" {
  feature = feature.gain
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [30.12858], candidate = [24.825554] }
  }
}

case "loss: screen, beyond" {
  feature = feature.loss
  expect  = "fail"
  launches = {
    "chat.tg" = { base = [30.191036], candidate = [21.939147] }
  }
}

case "set: first" {
  feature = feature.set
  expect  = "fail"
  launches = {
    "chat.tg"   = { base = [29.486243], candidate = [24.326133] }
    "chat.ttft" = { base = [247.7509], candidate = [346.69752] }
    "chat.e2e"  = { base = [1094.4396], candidate = [1114.7336] }
  }
  expect_rules = { "gain" = "fail", "later" = "inconclusive", "delta" = "inconclusive" }
}

case "any: first" {
  feature = feature.any
  expect  = "inconclusive"
  launches = {
    "chat.tg"   = { base = [30.411461], candidate = [24.001831] }
    "chat.ttft" = { base = [249.31541], candidate = [265.9341] }
    "chat.e2e"  = { base = [1099.2078], candidate = [1119.4954] }
  }
  expect_rules = { "one_of_three" = "inconclusive", "level" = "inconclusive" }
}

case "nested: first" {
  feature = feature.nested
  expect  = "inconclusive"
  launches = {
    "chat.tg"    = { base = [30.027959], candidate = [24.774941] }
    "chat.ttft"  = { base = [250.90804], candidate = [350.80558] }
    "chat.e2e"   = { base = [1089.7994], candidate = [1110.0935] }
    "chat.queue" = { base = [2.9788444], candidate = [3.2869631] }
    "chat.pp"    = { base = [3945.338], candidate = [4491.178] }
  }
}

case "mixed: first" {
  feature = feature.mixed
  expect  = "fail"
  launches = {
    "chat.tg"          = { base = [29.973454], candidate = [21.79577] }
    "engine.memory_gb" = { base = [20], candidate = [20.1] }
    "chat.ttft"        = { base = [242.93721], candidate = [259.13342] }
    "engine.crashes"   = { candidate = [0] }
    "gpu.memory_gb"    = { candidate = [79.99] }
  }
  expect_rules = { "it" = "fail", "memory" = "inconclusive", "share" = "inconclusive" }
}
