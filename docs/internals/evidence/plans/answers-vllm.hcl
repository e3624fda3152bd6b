# One port of vLLM at a time, honest or not: does the parent say what the candidate said?

plan "answers_vllm" {
  summary = "Ports of vLLM with a trained model: what the proof of agreement says of them"
}

variable "port" {
  default = "nothing"
}

variable "vllm" {
  default = "vllm"
}

variable "models" {
  description = "Folder of small (SmolLM2 135M Instruct) and tuned (the same after more training)"
  default     = "models"
}

variable "launches" {
  type    = number
  default = 2
}

locals {
  small = "${var.models}/small"
  ngram = { method = "ngram", num_speculative_tokens = 3, prompt_lookup_min = 2, prompt_lookup_max = 3 }
  eager = { enforce_eager = true }
  # off is the parent, on the candidate; least is what a port that changes answers declares.
  ports = {
    nothing      = { on = local.eager }
    graphs       = { off = local.eager, on = { compilation_config = { cudagraph_capture_sizes = [1, 2, 4, 8] } } }
    triton       = { off = merge(local.eager, { attention_backend = "FLASH_ATTN" }), on = merge(local.eager, { attention_backend = "TRITON_ATTN" }) }
    flex         = { off = merge(local.eager, { attention_backend = "FLASH_ATTN" }), on = merge(local.eager, { attention_backend = "FLEX_ATTENTION" }) }
    fp8_keys     = { on = merge(local.eager, { kv_cache_dtype = "fp8" }) }
    fp8_declared = { on = merge(local.eager, { kv_cache_dtype = "fp8" }), least = 0.8 }
    prefixes     = { off = merge(local.eager, { enable_prefix_caching = false }), on = merge(local.eager, { enable_prefix_caching = true }) }
    speculation  = { on = merge(local.eager, { speculative = local.ngram }) }
    chunks       = { off = merge(local.eager, { enable_chunked_prefill = false }), on = merge(local.eager, { enable_chunked_prefill = true, max_num_batched_tokens = 64 }) }
    format       = { on = merge(local.eager, { dtype = "float16" }) }
    scheduling   = { off = merge(local.eager, { async_scheduling = false }), on = merge(local.eager, { async_scheduling = true }) }
    sequences    = { on = merge(local.eager, { max_num_seqs = 2 }) }
    # Quantised weights, declared with the share of answers that they keep.
    quantized = { on = merge(local.eager, { quantization = "fp8" }), least = 0.5 }
    # Lies: nothing says that the weights are others, or of another format.
    checkpoint  = { on = local.eager, model = "${var.models}/tuned" }
    fp8_weights = { on = local.eager, args = ["--quantization", "fp8"] }
    # The same, by a script in vLLM's place, and by a knob that says that the format changes.
    checkpoint_hidden  = { on = local.eager, command = "-tuned" }
    layers             = { on = local.eager, command = "-pruned" }
    fp8_weights_hidden = { on = local.eager, args = ["--quantization", "fp8"], changes = ["quantization", "linear_kernel"] }
    int8_hidden        = { on = local.eager, args = ["--quantization", "int8_per_channel_weight_only"], changes = ["quantization", "linear_kernel"] }
  }
  port = local.ports[var.port]
}

engine "vllm" "small" {
  model = local.small
  process {
    command = [var.vllm, "serve", "{model}", "--host", "{host}", "--port", "{port}"]
  }
  settings = {
    max_model_len          = 1024
    max_num_seqs           = 8
    gpu_memory_utilization = 0.04
    kv_cache_memory_bytes  = 1073741824
    served_model_name      = "small"
    report_cached_tokens   = true
  }
  gpu {
    devices = [] # the script that var.vllm names shows it the GPU, which other applies use too
  }
  ready {
    timeout = "8m"
  }
}

knob "port" {
  default = "off"
  value "off" {
    env      = { MXFLOW_PORT = "off" } # two variants, also where nothing else differs
    settings = try(local.port.off, local.eager)
  }
  value "on" {
    env      = { MXFLOW_PORT = "on" }
    settings = local.port.on
    args     = try(local.port.args, [])
    command  = ["${var.vllm}${try(local.port.command, "")}", "serve", try(local.port.model, local.small), "--host", "{host}", "--port", "{port}"]
  }
  changes = try(local.port.changes, [])
}

workload "plain" {
  prompt_tokens = 64
  output_tokens = 24
  requests      = 16
  warmup        = 1
  max_lag       = "1m"
}

workload "chat" {
  api            = "chat"
  prompt_tokens  = 64
  count_template = false
  output_tokens  = 24
  turns          = 2
  requests       = 8
  warmup         = 1
  max_lag        = "1m"
}

workload "busy" {
  prompt_tokens = 192
  output_tokens = 24
  concurrency   = [4]
  requests      = 20
  warmup        = 4
  max_lag       = "1m"
}

protocol "standard" {
  level "correctness" {
    min_agreement = try(local.port.least, null)
  }
  level "benchmark" {
    workloads = [workload.plain, workload.chat, workload.busy]
    launches  = var.launches
  }
}

decision {
  launches = { min = 2, max = 8 }
}

baseline {
  engine   = engine.vllm.small
  protocol = protocol.standard
  # A virtual machine whose memory grows as it is used.
  accept_fingerprint = ["mem_gib"]
}

phase "port" {
  feature "port" {
    set = { port = "on" }
    criterion "stays up" { rule = "engine.crashes == 0" }
  }
}
