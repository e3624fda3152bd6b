# A choice and a stack of llama-server. What is compared is how many tokens a step yields, which drafts
# decide and no other load of the machine does.

plan "stack" {}

variable "server" { type = string }
variable "model" { type = string }
variable "answer" { type = string }
engine "llamacpp" "tiny" {
  model = var.model
  process { command = [var.server, "-m", "{model}", "--host", "{host}", "--port", "{port}"] }
  settings = {
    threads        = 1
    max_model_len  = 1024
    max_num_seqs   = 1
    enable_metrics = true
    speculative    = { method = "ngram-simple" }
  }
}

knob "drafts" {
  default = "two"
  dynamic "value" {
    for_each = { two = 2, four = 4, eight = 8 }
    labels   = [value.key]
    content {
      args = ["--spec-ngram-simple-size-n", "2", "--spec-ngram-simple-size-m", tostring(value.value)]
      must_see {
        log      = ["*size_m=${value.value},*"]
        at_start = true # the server repeats what it was given
      }
    }
  }
  # Without flash attention the server refuses a quantised cache, and ends.
  value "broken" {
    settings = { kv_cache_dtype = "q8_0" }
    must_see {
      log      = ["*size_m=*"]
      at_start = true
    }
  }
}

knob "attention" {
  default = "off"
  dynamic "value" {
    for_each = { off = "disabled", on = "enabled" }
    labels   = [value.key]
    content {
      settings = { attention_backend = value.key }
      must_see { log = ["*flash_attn*= ${value.value}*"] }
    }
  }
  changes = ["attention"]
}

workload "long" {
  prompt_tokens = 24
  output_tokens = 96
  requests      = 4
  warmup        = 1
  max_lag       = "1m"
}

protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = var.answer
  }
  level "kernels" {}
  level "benchmark" { workloads = [workload.long] }
}

baseline {
  engine   = engine.llamacpp.tiny
  protocol = protocol.standard
}

phase "choice" {
  feature "drafts" {
    choose = { drafts = ["four", "broken", "eight"] }
    criterion "accepted" { rule = "long.accept_length.gain >= 0.2" }
  }
}

phase "stack" {
  after = [phase.choice]
  feature "flash" {
    set       = { attention = "on" }
    builds_on = accepted
    criterion "accepted" { rule = "long.accept_length.gain >= -0.1" }
    criterion "memory" { rule = "engine.memory_gb.delta <= 0.5 and engine.crashes == 0" }
  }
}
