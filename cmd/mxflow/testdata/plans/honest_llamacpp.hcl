# Ports of llama-server that do their work: other kernels, a quantised cache, speculation
# by its own text and by a drafting model, other batches and slots, other formats of the
# weights.

plan "honest_llamacpp" {}

include = ["honest_foreign.hcl"]

locals {
  small = "${var.models}/small.q8_0.gguf"
  ports = {
    nothing     = { on = [] }
    threads     = { on = ["-t", "2"] }
    attention   = { off = ["-fa", "off"], on = ["-fa", "on"] }
    cache       = { off = ["-fa", "on"], on = ["-fa", "on", "-ctk", "q8_0", "-ctv", "q8_0"] }
    speculation = { on = ["--spec-type", "ngram-simple", "--spec-draft-n-max", "8"] }
    draft       = { on = ["-md", "${var.models}/small.q4_1.gguf", "--spec-type", "draft-simple", "--spec-draft-n-max", "4"] }
    batches     = { on = ["-b", "64", "-ub", "32"] }
    slots       = { on = ["-np", "1", "-c", "2048"] }
    repacking   = { on = ["--no-repack"] }
    weights     = { off = ["-m", "${var.models}/small.f16.gguf"], on = ["-m", local.small] }
    # These change answers on purpose.
    weights5 = { on = ["-m", "${var.models}/small.q5_k_m.gguf"], least = 0.3 }
    weights4 = { on = ["-m", "${var.models}/small.q4_1.gguf"], least = 0.5 }
  }
  port = local.ports[var.port]
}

engine "llamacpp" "small" {
  model = local.small
  process { command = [var.server, "-m", "{model}", "--port", "{port}"] }
  settings = {
    threads        = 1
    max_model_len  = 2048
    max_num_seqs   = 4
    enable_metrics = true
  }
}

knob "port" {
  default = "off"
  value "off" {
    env  = { MXFLOW_HONEST = "off" } # two variants, also where nothing else differs
    args = try(local.port.off, [])
  }
  value "on" {
    env  = { MXFLOW_HONEST = "on" }
    args = local.port.on
  }
  changes = ["attention", "quantization", "kv_cache_dtype", "max_num_batched_tokens", "speculative", "slots", "ubatch_size"]
}

baseline {
  engine   = engine.llamacpp.small
  protocol = protocol.standard
}
