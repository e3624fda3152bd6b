# What each engine of TestForeignEngines is sent. Server and model are given, and what the model answers.

variable "server" { type = string }
variable "model" { type = string }
variable "dir" { default = "" }
variable "answer" { type = string }

workload "chat" {
  prompt_tokens = 24
  output_tokens = 16
  requests      = 5
  warmup        = 1
  max_lag       = "1m"
}

# Answers are longer than the model's text, so a draft finds its beginning.
workload "busy" {
  prompt_tokens = 40
  output_tokens = 96
  depth         = [0, 64]
  concurrency   = [1, 2]
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
  level "correctness" { # the model recites one text, so no answer proves whose it is
    answers = "unchecked"
  }
  level "benchmark" {
    workloads = [workload.chat, workload.busy]
    launches  = 4
  }
}
