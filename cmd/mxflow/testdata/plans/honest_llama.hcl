# Ports of llama-server that do their work: other kernels, a quantised cache,
# speculation, other batches, a coarser format of the weights. TestHonest applies it to
# whatever model it is given.

plan "honest_llama" {}

variable "server" { type = string }
variable "model" { type = string }
variable "other" {
  type    = string
  default = ""
}
variable "port" { type = string }

locals {
  ports = {
    nothing     = { off = [], on = [] }
    attention   = { off = ["-fa", "off"], on = ["-fa", "on"] }
    cache       = { off = ["-fa", "on"], on = ["-fa", "on", "-ctk", "q8_0", "-ctv", "q8_0"] }
    cache4      = { off = ["-fa", "on"], on = ["-fa", "on", "-ctk", "q4_0", "-ctv", "q4_0"] }
    speculation = { off = [], on = ["--spec-type", "ngram-simple", "--spec-draft-n-max", "8"] }
    batches     = { off = [], on = ["-b", "64", "-ub", "32"] }
    threads     = { off = ["-t", "1"], on = ["-t", "2"] }
    weights     = { off = [], on = [] }
  }
  port = local.ports[var.port]
}

engine "llamacpp" "small" {
  model = var.model
  process { command = [var.server, "--port", "{port}"] }
  settings = {
    max_model_len  = 2048
    max_num_seqs   = 4
    enable_metrics = true
  }
}

knob "port" {
  default = "off"
  value "off" {
    args = concat(["-m", var.model], local.port.off)
  }
  value "on" {
    args = concat(["-m", var.other == "" ? var.model : var.other], local.port.on)
  }
  changes = ["attention", "quantization", "kv_cache_dtype", "speculative"]
}

workload "plain" {
  prompt_tokens = 64
  output_tokens = 24
  requests      = 8
  warmup        = 1
  max_lag       = "1m"
}

workload "chat" {
  api           = "chat"
  prompt_tokens = 64
  output_tokens = 24
  requests      = 8
  warmup        = 1
  max_lag       = "1m"
}

workload "hot" {
  prompt_tokens = 64
  output_tokens = 24
  temperature   = 0.8
  requests      = 8
  warmup        = 1
  max_lag       = "1m"
}

workload "busy" {
  prompt_tokens = 64
  output_tokens = 24
  concurrency   = [4]
  requests      = 8
  warmup        = 1
  max_lag       = "1m"
  min_reached   = 0
}

protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "benchmark" {
    workloads = [workload.plain, workload.chat, workload.hot, workload.busy]
    launches  = 4
  }
}

baseline {
  engine   = engine.llamacpp.small
  protocol = protocol.standard
}

phase "port" {
  feature "port" {
    set = { port = "on" }
    criterion "decodes" {
      rule = "plain.tg.gain >= -0.99"
    }
  }
}
