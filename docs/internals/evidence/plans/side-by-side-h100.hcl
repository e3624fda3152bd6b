# One shape (Qwen3-8B's), the same prompts, several engines on one H100. Weights are random: speed
# does not depend on them.

plan "side_by_side" {
  summary = "What four engines make of the same requests on one H100"
}

variable "models" {
  description = "Folder that scripts/models.py wrote"
  default     = "models"
}

variable "vllm" {
  default = "vllm"
}

variable "sglang" {
  description = "The Python that has SGLang"
  default     = "python3"
}

variable "tabby" {
  description = "TabbyAPI's checkout"
  default     = "tabbyAPI"
}

variable "tabby_python" {
  description = "The Python that has ExLlamaV3"
  default     = "python3"
}

variable "llama_server" {
  default = "llama-server"
}

engine "vllm" "bf16" {
  model = "${var.models}/qwen3-8b"

  process {
    command = [var.vllm, "serve", "{model}", "--host", "{host}", "--port", "{port}"]
  }
  settings = {
    load_format            = "dummy"
    max_model_len          = 4096
    max_num_seqs           = 8
    gpu_memory_utilization = 0.6
    compilation_config     = { cudagraph_capture_sizes = [1, 2, 4, 8] }
  }
  ready {
    timeout = "5m"
  }
}

engine "sglang" "bf16" {
  model = "${var.models}/qwen3-8b"

  process {
    command = [var.sglang, "-m", "sglang.launch_server", "--model-path", "{model}", "--host", "{host}", "--port", "{port}"]
  }
  settings = {
    load_format            = "dummy"
    max_model_len          = 4096
    max_num_seqs           = 8
    cuda_graph_max_bs      = 8
    gpu_memory_utilization = 0.6
    attention_backend      = "fa3"
    sampling_backend       = "pytorch"
    prefill_cuda_graphs    = false # captured, they make a first start two minutes longer
  }
  ready {
    timeout = "6m"
  }
}

engine "tabbyapi" "bf16" {
  model = "qwen3-8b"

  process {
    command = [var.tabby_python, "${var.tabby}/main.py", "--model-name", "{model}", "--disable-auth", "true", "--host", "{host}", "--port", "{port}"]
  }
  settings = {
    model_dir       = var.models # with weights: it has no dummy ones
    max_model_len   = 4096
    max_num_seqs    = 8
    kv_cache_tokens = 40960 # 8 requests take 3072 each before they begin
  }
  ready {
    timeout = "5m"
  }
}

engine "llamacpp" "bf16" {
  model = "${var.models}/qwen3-8b.gguf"

  process {
    command = [var.llama_server, "-m", "{model}", "--host", "{host}", "--port", "{port}"]
  }
  settings = {
    gpu_layers        = "all"
    max_model_len     = 4096
    max_num_seqs      = 8
    attention_backend = "on"
    fit               = false
  }
  ready {
    timeout = "5m"
  }
}

workload "chat" {
  prompt_tokens = 1024
  output_tokens = 128
  concurrency   = [1, 8]
  requests      = 16
  coherence     = "off" # random weights say nothing that is coherent
  max_lag       = "1m"
}

protocol "answers" {
  level "smoke" {
    pattern = ".*" # random weights know no right answer
  }
}

phase "side_by_side" {
  step "compare" "engines" {
    engines   = [engine.vllm.bf16, engine.sglang.bf16, engine.tabbyapi.bf16, engine.llamacpp.bf16]
    reference = engine.vllm.bf16
    workloads = [workload.chat]
    protocol  = protocol.answers
    launches  = 3
  }
}
