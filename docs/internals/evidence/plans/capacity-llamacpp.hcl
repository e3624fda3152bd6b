# How many requests a second llama-server carries on a processor with one place for requests, and
# with four.

plan "llama_on_a_processor" {
  summary = "Places for requests of llama-server on a CPU"
}

variable "model" {
  description = "A model file in GGUF"
}

variable "llama_server" {
  default = "llama-server"
}

engine "llamacpp" "cpu" {
  model = var.model

  process {
    command = [var.llama_server, "-m", "{model}", "--host", "{host}", "--port", "{port}", "--threads", "1"]
  }
  settings = {
    max_model_len = 4096
  }
}

knob "places" {
  summary = "Requests that are computed at once"
  default = "1"
  changes = ["slots"]
  value "1" {
    settings = { max_num_seqs = 1 }
    must_see { observed = { slots = 1 } }
  }
  value "4" {
    settings = { max_num_seqs = 4 }
    must_see { observed = { slots = 4 } }
  }
}

workload "chat" {
  prompt_tokens = 16
  output_tokens = 8
  max_lag       = "100ms"
  coherence     = "off" # eight tokens are too few to judge

  slo {
    ttft = "1s"
  }
  capacity {
    percentile = 90
    start      = 3
    probe      = "8s"
    warmup     = "2s"
    drain      = "4s"
    probes     = 6
  }
}

protocol "standard" {
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
    launches  = 4
  }
}

baseline {
  engine   = engine.llamacpp.cpu
  protocol = protocol.standard
}

phase "ports" {
  feature "four" {
    set = { places = "4" }
    criterion "carries more" { rule = "chat.capacity.gain >= 10%" }
  }
}
