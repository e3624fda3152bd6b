# What each foreign engine of TestHonest is sent, and how it is decided. Every cell is
# read by a rule, so that metrics which contradict each other are seen in all of them;
# one slot for four requests decodes each faster and lets them wait, which e2e decides.

variable "server" { type = string }
variable "models" { type = string }
variable "port" { type = string }

workload "plain" {
  prompt_tokens = 24
  output_tokens = 12
  requests      = 6
  warmup        = 1
  max_lag       = "1m"
}

workload "chat" {
  api           = "chat"
  prompt_tokens = 24
  # A template has more tokens than that.
  count_template = false
  output_tokens  = 12
  requests       = 6
  warmup         = 1
  max_lag        = "1m"
}

workload "hot" {
  prompt_tokens = 24
  output_tokens = 12
  temperature   = 0.8
  requests      = 6
  warmup        = 1
  max_lag       = "1m"
}

workload "busy" {
  prompt_tokens = 24
  output_tokens = 12
  concurrency   = [4]
  requests      = 6
  warmup        = 1
  max_lag       = "1m"
}

protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "correctness" {
    min_agreement = try(local.ports[var.port].least, null)
  }
  level "benchmark" {
    workloads = [workload.plain, workload.chat, workload.hot, workload.busy]
    launches  = 4
  }
}

phase "port" {
  feature "port" {
    set = { port = "on" }
    criterion "decodes" {
      rule = "plain.tg.gain >= -0.99 and chat.tg.gain >= -0.99 and hot.tg.gain >= -0.99 and busy.c4.tg.gain >= -0.99 and busy.c4.e2e.gain >= -0.99"
    }
  }
}
