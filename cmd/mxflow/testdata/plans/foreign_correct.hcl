# Other caches and other weights of llama-server. Limits are those that docs/protocol.md reports figures for.

plan "correct" {}

variable "server" { type = string }
variable "models" { type = string }
engine "llamacpp" "small" {
  model = "${var.models}/small.q8_0.gguf"
  process { command = [var.server, "-m", "{model}", "--host", "{host}", "--port", "{port}"] }
  settings = {
    threads           = 1
    max_model_len     = 2048
    max_num_seqs      = 4
    attention_backend = "on"
  }
}

knob "cache" {
  default = "f16"
  value "f16" {}
  value "q8_0" { settings = { kv_cache_dtype = "q8_0" } }
  value "q4_0" { settings = { kv_cache_dtype = "q4_0" } }
  changes = ["kv_cache_dtype"]
}

knob "weights" {
  default = "q8_0"
  value "q8_0" {}
  value "others" {
    command = [var.server, "-m", "${var.models}/small.q5_k_m.gguf", "--host", "{host}", "--port", "{port}"]
  }
  changes = ["quantization"]
}

protocol "standard" {
  level "correctness" {
    prompts          = 16
    prompt_tokens    = [128]
    output_tokens    = 32
    concurrency      = [1, 4]
    within           = "2m"
    max_kl           = 0.02
    min_argmax_match = 0.95
  }
}

baseline {
  engine   = engine.llamacpp.small
  protocol = protocol.standard
}

phase "ports" {
  feature "port" {
    for_each = { eight = { cache = "q8_0" }, four = { cache = "q4_0" }, others = { weights = "others" } }
    set      = each.value
    criterion "same" { rule = "levels.correctness.kl > 0 and levels.correctness == 'pass'" }
  }
}
