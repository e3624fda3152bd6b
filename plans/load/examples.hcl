# An example of each block that this package describes, for the manual.

plan "mxfp4_v2" {
  summary = "Make vLLM the fastest engine for gpt-oss-120b on GB10"
}

variable "threads" {
  type        = number
  default     = 2
  description = "CPU threads of the engine"

  validation {
    condition     = var.threads >= 1
    error_message = "An engine without threads does nothing."
  }
}

validation {
  condition     = contains(["small", "large"], var.model)
  error_message = "model is small or large."
}

locals {
  lengths = [512, 2048]
  longest = max(local.lengths...)
}

engine "openai" "gb10" {
  model = "openai/gpt-oss-120b"
  env   = { VLLM_ATTENTION_BACKEND = "FLASHINFER" }
  args  = ["--max-num-seqs", "2"]

  process {
    command = ["vllm", "serve", "openai/gpt-oss-120b", "--port", "{port}"]
  }
  ready {
    timeout = "15m"
  }
}

process {
  command = ["vllm", "serve", "openai/gpt-oss-120b", "--port", "{port}"]
  dir     = "."
}

ready {
  timeout = "15m"
}

stop {
  grace = "20s"
}

knob "moe_kernel" {
  default = "marlin"

  value "marlin" {
    env = { VLLM_MXFP4_MOE_KERNEL = "marlin" }
    must_see {
      log = ["*Marlin backend*"]
    }
  }
  value "gemm" {
    env = { VLLM_MXFP4_MOE_KERNEL = "gemm", OLD_SWITCH = null }
    must_see {
      log = ["*backend: CUTLASS*"]
    }
  }
}

value "cutlass" {
  env = { VLLM_MXFP4_MOE_KERNEL = "cutlass" }
  must_see {
    log = ["*backend: CUTLASS*"]
  }
  must_not_see {
    log = ["*Marlin backend*"]
  }
}

must_see {
  log = ["*Marlin backend*"]
}

must_not_see {
  log = ["*backend: CUTLASS*"]
}

workload "chat" {
  prompt_tokens = 2048
  output_tokens = [32, 128]
  requests      = 10
  warmup        = 3
}

prompt_lengths {
  distribution = "lognormal"
  mean         = 512
  std          = 300
  max          = 4096
}

output_lengths {
  distribution = "lognormal"
  mean         = 512
  std          = 300
  max          = 4096
}

dataset {
  file = "prompts.jsonl"
}

slo {
  ttft = "300ms"
  tpot = "50ms"
}

capacity {
  probe    = "1m"
  max_rate = 200
}

suite "quick" {
  summary   = "Enough to see whether it is worth more"
  workloads = [workload.chat]
}

protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}

target "llamacpp" {
  tool = "llama-bench f5acfb2ff"
  metrics = {
    chat = { pp = 2449.83, tg = 57.85 }
  }
}

imported "benchy" {
  file = "results/llama-benchy.json"
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
  set      = { moe_kernel = "marlin" }
}

executor "local" {
  devices = ["0", "1", "2", "3"]
}

executor "ssh" {
  hosts   = ["gpu-a", "gpu-b"]
  devices = ["0", "1"]
}

executor "slurm" {
  partition = "gpu"
  gres      = "gpu:1"
  time      = "4:00:00"
  slots     = 4
  args      = ["--cpus-per-task=16"]
}

executor "kubernetes" {
  job   = file("job.yaml")
  slots = 4
}

decision {
  false_pass = 0.01
  false_fail = 0.05
  launches   = { min = 4, max = 8 }
}

report {
  columns = ["chat.tg32", { column = "chat.ttft.p50", heading = "TTFT" }, "gpu.memory_gb"]
}

table "power" {
  columns = ["gpu.idle_power_w", "gpu.power_w", "gpu.peak_power_w", "chat.tokens_per_joule"]
}

watch {
  anchor = "v0.26.0"

  criterion "decode" {
    rule = "chat.tg.gain >= -3%"
  }
}

phase "cutlass" {
  summary = "CUTLASS kernels for MXFP4"

  step "exec" "clean" {
    command = ["git", "diff", "--quiet"]
  }
  feature "gemm" {
    set = { moe_kernel = "gemm" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.10"
    }
  }
  gate {
    rule "decode did not regress" {
      rule = "chat.tg.gain >= -0.03"
    }
  }
}

feature "gemm" {
  summary = "Grouped GEMM in place of Marlin"
  set     = { moe_kernel = "gemm" }

  hypothesis {
    metric  = "chat.tg"
    expect  = "+10%"
    because = "the grouped GEMM avoids Marlin's dequantisation"
  }
  criterion "decode" {
    rule = "chat.tg.gain >= 0.10"
  }
}

hypothesis {
  metric  = "chat.tg"
  expect  = "+10%"
  because = "the grouped GEMM avoids Marlin's dequantisation"
  kernels = { moe = 1.5 }
}

criterion "decode" {
  rule = "chat.tg.gain >= 0.10"
}

confirm {
  engine   = engine.vllm.production
  criteria = ["decode"]
}

gate {
  rule "kernel path proven" {
    rule = "levels.kernels == 'pass'"
  }
  rule "decode did not regress" {
    rule = "chat.tg.gain >= -0.03"
  }
}

rule "decode did not regress" {
  rule = "chat.tg.gain >= -0.03"
}
