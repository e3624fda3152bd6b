# Where a decoded token of gpt-oss-20b waits in vLLM, and what the experts' kernel and CUDA
# graphs change of it. Weights are random: speed does not depend on them.

plan "where_the_time_goes" {
  summary = "Experts' kernels and CUDA graphs of vLLM on one H100"
}

variable "model" {
  description = "Folder of the model's config and tokenizer, as scripts/models.py writes it"
  default     = "models/gpt-oss-20b"
}

variable "vllm" {
  default = "vllm"
}

engine "vllm" "h100" {
  model = var.model

  process {
    command = [var.vllm, "serve", "{model}", "--host", "{host}", "--port", "{port}"]
  }
  settings = {
    load_format            = "dummy"
    max_model_len          = 8192
    max_num_seqs           = 8
    gpu_memory_utilization = 0.85
    compilation_config     = { cudagraph_capture_sizes = [1, 2, 4, 8] }
  }
  ready {
    timeout = "5m"
  }
}

knob "experts" {
  summary = "Kernel of the MXFP4 experts"
  default = "marlin"
  changes = ["moe_kernel"]

  value "marlin" {
    settings = { moe_backend = "marlin" }
    must_see { trace = ["marlin"] }
  }
  value "triton" {
    settings = { moe_backend = "triton" }
    must_not_see { trace = ["marlin"] }
  }
}

knob "graphs" {
  summary = "CUDA graphs and torch.compile"
  default = "on"
  changes = ["cuda_graphs"]

  value "on" {
    must_see { observed = { cuda_graphs = "FULL_AND_PIECEWISE" } }
  }
  value "off" {
    settings = { enforce_eager = true }
    must_see {
      log      = ["*enforce_eager=True*"]
      at_start = true # the line repeats the configuration
    }
    must_not_see { log = ["*Graph capturing finished*"] }
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

protocol "look" {
  level "kernels" {}
  level "profile" {
    prompt_tokens = 1024
    steps         = 24
    concurrency   = [1, 8]
  }
}

protocol "whole" {
  level "kernels" {}
  level "profile" {
    prompt_tokens = 1024
    steps         = 24
    concurrency   = [1, 8]
  }
  level "benchmark" {
    workloads = [workload.chat]
    launches  = 4
  }
}

decision {
  launches = { min = 3 }
}

baseline {
  engine   = engine.vllm.h100
  protocol = protocol.look
}

phase "experts" {
  feature "triton" {
    set      = { experts = "triton" }
    protocol = protocol.whole
    hypothesis {
      metric  = "chat.c1.tg"
      expect  = "+10%"
      because = "Triton's grouped GEMM reads the same bytes as Marlin"
      kernels = { moe = 1.2 }
    }
    criterion "decode" { rule = "chat.c1.tg.gain >= -0.02" }
  }
}

phase "graphs" {
  after = [phase.experts]
  feature "eager" {
    set       = { graphs = "off" }
    builds_on = baseline
    protocol  = protocol.whole
    criterion "decode" { rule = "chat.c1.tg.gain >= -0.05" }
  }
  feature "triton_eager" {
    set       = { experts = "triton", graphs = "off" }
    builds_on = baseline
    protocol  = protocol.look
    criterion "experts" { rule = "levels.profile.moe_us.gain >= 0" }
  }
}
