# Two engines that are compared and two cells of a matrix: what scenarios of executors launch
# by serve.sh of their own.

variable "launches" {
  type    = number
  default = 2
}

engine "embedded" "slow" {
  settings = { layers = 1 }
  # A token at a time, however busy this machine is.
  env = { MXFLOW_EMBEDDED_KV_CACHE = "off", MXFLOW_EMBEDDED_PACE = "2ms", MXFLOW_EMBEDDED_FAULT = "" }
  process { command = ["sh", "serve.sh", "{port}"] }
}

engine "embedded" "fast" {
  settings = { layers = 1 }
  env      = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_PACE = "2ms" }
  process { command = ["sh", "serve.sh", "{port}"] }
}

knob "kv_cache" {
  default = "off"
  value "off" { env = { MXFLOW_EMBEDDED_KV_CACHE = "off" } }
  value "on" { env = { MXFLOW_EMBEDDED_KV_CACHE = "on" } }
}

workload "chat" {
  max_lag       = "1m"
  stall_timeout = "1m"
  prompt_tokens = 8
  output_tokens = 16
  requests      = 2
  warmup        = 1
}

protocol "own" {
  level "smoke" { expect = "Paris" }
  level "benchmark" { workloads = [workload.chat] }
}

baseline {
  engine   = engine.embedded.slow
  protocol = protocol.own
}

phase "both" {
  step "compare" "engines" {
    engines   = [engine.embedded.slow, engine.embedded.fast]
    reference = engine.embedded.slow
    workloads = [workload.chat]
    protocol  = protocol.own
    launches  = var.launches
  }
  step "matrix" "cells" {
    knobs     = { kv_cache = ["off", "on"] }
    workloads = [workload.chat]
    protocol  = protocol.own
    launches  = var.launches
  }
}
