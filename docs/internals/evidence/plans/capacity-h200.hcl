# How much more traffic vLLM carries with gpt-oss-20b in MXFP4 if it computes more requests at
# once. Weights are random: speed does not depend on them.

plan "gpt_oss_on_h200" {
  summary = "Batch size of vLLM for gpt-oss-20b in MXFP4 on one H200"
}

variable "model" {
  description = "Folder of the model's config and tokenizer, as scripts/models.py writes it"
  default     = "models/gpt-oss-20b"
}

variable "vllm" {
  default = "vllm"
}

engine "vllm" "h200" {
  model = var.model

  process {
    command = [var.vllm, "serve", "{model}", "--host", "{host}", "--port", "{port}"]
  }
  env = {
    PYTHONDONTWRITEBYTECODE = "" # set on that machine: each start would compile all of vLLM
  }
  settings = {
    load_format            = "dummy"
    moe_backend            = "marlin"
    max_model_len          = 4096
    gpu_memory_utilization = 0.8
    compilation_config     = { cudagraph_capture_sizes = [1, 2, 4, 8, 16, 32] }
  }
  ready {
    timeout = "5m"
  }
}

knob "batch" {
  summary = "Requests that are computed at once"
  default = "8"

  value "8" {
    settings = { max_num_seqs = 8 }
    must_see {
      log      = ["*'max_num_seqs': 8,*"]
      at_start = true # the line repeats the arguments
    }
  }
  value "32" {
    settings = { max_num_seqs = 32 }
    must_see {
      log      = ["*'max_num_seqs': 32,*"]
      at_start = true # the line repeats the arguments
    }
  }
}

workload "served" {
  prompt_tokens = 512
  output_tokens = 64
  coherence     = "off" # random weights say nothing that is coherent
  max_lag       = "1m"

  slo {
    ttft = "500ms"
    tpot = "30ms"
  }
  capacity {
    start  = 20
    probe  = "6s"
    warmup = "1s"
    drain  = "5s"
    probes = 6
  }
}

protocol "standard" {
  level "kernels" {}
  level "correctness" { answers = "unchecked" } # nor anything to compare
  level "benchmark" {
    workloads = [workload.served]
    launches  = 4
  }
}

baseline {
  engine   = engine.vllm.h200
  protocol = protocol.standard
}

phase "ports" {
  feature "batch" {
    set = { batch = "32" }
    criterion "carries more" { rule = "served.capacity.gain >= 10%" }
  }
}
