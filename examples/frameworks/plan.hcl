# A comparison of frameworks: one row per engine, the same prompts for all, in fresh
# launches, with speed-ups against one of them. To run anywhere, the frameworks here
# are three states of the engine inside mxflow. Real ones are written like this,
# with the same workload and step:
#
#   engine "vllm" "bf16" {
#     model = "Qwen/Qwen3-0.6B"
#     docker {
#       image = "vllm/vllm-openai:latest"
#       gpus  = "all"
#     }
#     settings = { dtype = "bfloat16" }
#   }
#
#   engine "llamacpp" "bf16" {
#     model    = "models/Qwen3-0.6B-BF16.gguf"
#     settings = { gpu_layers = "all" }
#   }
#
#   mxflow apply examples/frameworks/plan.hcl
#   mxflow report examples/frameworks/plan.hcl    # the table as Markdown
#
# exit status: 0

plan "frameworks" {
  summary = "Which engine is fastest for one user at a time?"
}

engine "embedded" "plain" {
  settings = {
    threads = 1
  }
  env = { MXFLOW_EMBEDDED_KV_CACHE = "off", MXFLOW_EMBEDDED_MOE = "all" }
}

engine "embedded" "cached" {
  settings = {
    threads = 1
  }
  env = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_MOE = "all" }
}

engine "embedded" "routed" {
  settings = {
    threads = 1
  }
  env = { MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_MOE = "routed" }
}

workload "chat" {
  prompt_tokens = 48
  output_tokens = 24
  requests      = 4
  warmup        = 1
}

# What an engine must do before its numbers count. One that does not is a row that
# says why, and apply does not exit with 0.
protocol "answers" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
}

phase "comparison" {
  step "compare" "frameworks" {
    engines   = [engine.embedded.plain, engine.embedded.cached, engine.embedded.routed]
    reference = engine.embedded.plain
    workloads = [workload.chat]
    protocol  = protocol.answers
  }
}
