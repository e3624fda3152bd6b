# One port of llama-server at a time, honest or not: does the parent say what the candidate said?

plan "answers_llamacpp" {
  summary = "Ports of llama-server on a CPU with a trained model: what the proof of agreement says of them"
}

variable "port" {
  default = "nothing"
}

variable "server" {
  default = "llama-server"
}

variable "models" {
  description = "Folder of small.*.gguf (SmolLM2 135M Instruct) and tuned.q8_0.gguf (the same after more training)"
  default     = "models"
}

variable "launches" {
  type    = number
  default = 2
}

locals {
  small = "${var.models}/small.q8_0.gguf"
  flash = { attention_backend = "on" }
  # off is the parent, on the candidate; least is what a port that changes answers declares.
  ports = {
    nothing       = { on = {} }
    attention     = { off = { attention_backend = "off" }, on = local.flash }
    keys          = { off = local.flash, on = { attention_backend = "on", kv_cache_dtype = "q8_0" } }
    keys_declared = { off = local.flash, on = { attention_backend = "on", kv_cache_dtype = "q8_0" }, least = 0.8 }
    batches       = { on = { max_num_batched_tokens = 64, ubatch_size = 32 } }
    threads       = { on = { threads = 2 } }
    prefixes      = { off = { enable_prefix_caching = false }, on = { enable_prefix_caching = true } }
    reuse         = { on = {}, args = ["--cache-reuse", "16"] }
    ngram         = { on = { speculative = { method = "ngram-simple", num_speculative_tokens = 8 } } }
    draft         = { on = { speculative = { model = "${var.models}/small.q4_1.gguf", num_speculative_tokens = 4 } } }
    repacking     = { on = {}, args = ["--no-repack"] }
    # Other formats of the weights, as said.
    coarser_declared = { on = {}, args = ["-m", "${var.models}/small.q2_k.gguf"], changes = ["quantization"], least = 0.4 }
    # Lies: nothing says that the weights are others, or of a coarser format.
    checkpoint = { on = {}, command = "-tuned" }
    layers     = { on = {}, command = "-pruned" }
    coarser    = { on = {}, args = ["-m", "${var.models}/small.q2_k.gguf"] }
    # The same, by a script in the server's place, and by a knob that says that the format changes.
    coarser_hidden  = { on = {}, command = "-q2_k" }
    coarser_changes = { on = {}, args = ["-m", "${var.models}/small.q2_k.gguf"], changes = ["quantization"] }
  }
  port = local.ports[var.port]
}

engine "llamacpp" "small" {
  model = local.small
  process {
    command = [var.server, "-m", "{model}", "--host", "{host}", "--port", "{port}"]
  }
  settings = {
    threads        = 1
    max_model_len  = 1024
    max_num_seqs   = 4
    enable_metrics = true
  }
  gpu {
    devices = []
  }
}

knob "port" {
  default = "off"
  value "off" {
    env      = { MXFLOW_PORT = "off" } # two variants, also where nothing else differs
    settings = try(local.port.off, {})
  }
  value "on" {
    env      = { MXFLOW_PORT = "on" }
    settings = local.port.on
    args     = try(local.port.args, [])
    command  = ["${var.server}${try(local.port.command, "")}", "-m", "{model}", "--host", "{host}", "--port", "{port}"]
  }
  changes = try(local.port.changes, [])
}

workload "plain" {
  prompt_tokens = 32
  output_tokens = 16
  requests      = 20
  warmup        = 1
  max_lag       = "1m"
}

workload "chat" {
  api            = "chat"
  prompt_tokens  = 24
  count_template = false
  output_tokens  = 16
  requests       = 12
  warmup         = 1
  max_lag        = "1m"
}

protocol "standard" {
  level "correctness" {
    min_agreement = try(local.port.least, null)
  }
  level "benchmark" {
    workloads = [workload.plain, workload.chat]
    launches  = var.launches
  }
}

decision {
  launches = { min = 2, max = 8 }
}

baseline {
  engine   = engine.llamacpp.small
  protocol = protocol.standard
}

phase "port" {
  feature "port" {
    set = { port = "on" }
    criterion "stays up" { rule = "engine.crashes == 0" }
  }
}
