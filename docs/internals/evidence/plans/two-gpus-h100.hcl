# Qwen3-8B's shape with 9 of 36 layers in llama.cpp on two GPUs of one host: what do two
# slots change?

plan "two_gpus" {}

variable "models" {
  default = "models"
}

variable "llama_server" {
  default = "llama-server"
}

variable "slots" {
  type    = number
  default = 2
}

executor "local" {
  devices = ["0", "1"]
  slots   = var.slots
}

engine "llamacpp" "bf16" {
  model = "${var.models}/qwen3-8b.gguf"

  process {
    command = [var.llama_server, "-m", "{model}", "--host", "{host}", "--port", "{port}"]
  }
  settings = {
    gpu_layers        = "all"
    max_model_len     = 4096
    max_num_seqs      = 2
    attention_backend = "on"
    fit               = false
  }
}

workload "chat" {
  prompt_tokens = 512
  output_tokens = 128
  requests      = 8
  coherence     = "off" # random weights say nothing that is coherent
  max_lag       = "1m"
}

protocol "standard" {
  level "smoke" {
    pattern = ".*" # random weights know no right answer
  }
  level "benchmark" {
    workloads = [workload.chat]
    launches  = 6
  }
}

knob "nothing" {
  default = "a"
  value "a" {}
  value "b" { env = { NOBODY_READS_THIS = "1" } }
}

knob "attention" {
  default = "on"
  value "on" {}
  value "off" { settings = { attention_backend = "off" } }
  changes = ["attention"]
}

baseline {
  engine   = engine.llamacpp.bf16
  protocol = protocol.standard
}

phase "ports" {
  feature "aa" {
    set = { nothing = "b" }
    criterion "same" { rule = "chat.tg.gain >= -0.02" }
  }
  feature "no_flash" {
    set       = { attention = "off" }
    builds_on = baseline
    criterion "no_slower" { rule = "chat.tg.gain >= -0.02" }
  }
}
