# A prefix cache where it helps: all requests share a system prompt, which is
# computed once. mxflow makes every prompt unique from its first token, which
# defeats prefix caches, because a cached prompt looks like a fast prefill. Here
# the cache itself is under test, so the plan says what may be found in it
# (system_tokens), and anything beyond that makes the measurement invalid.
#
#   mxflow apply examples/prefix_cache/plan.hcl
#   mxflow show latest examples/prefix_cache/plan.hcl    # cached_tokens of each arm
#
# exit status: 0

plan "prefix_cache" {
  summary = "Keep the keys and values of the system prompt between requests"
}

engine "embedded" "tiny" {
  settings = {
    threads = 1
  }
}

knob "prefix_cache" {
  default = "off"

  value "off" {
    env = { MXFLOW_EMBEDDED_PREFIX_CACHE = "off" }
    must_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
    must_not_see {
      log = ["*using kernel prefix_block_lookup*"]
    }
  }

  # The lookup runs at the first prompt. Hits are measured: cached_tokens of each
  # request, and prefix_hit_rate from the engine's counters.
  value "on" {
    env = { MXFLOW_EMBEDDED_PREFIX_CACHE = "on" }
    must_see {
      log = ["*prefix_cache: using kernel prefix_block_lookup*"]
    }
  }
}

# A chat of 32 tokens behind instructions of 480. The client is allowed to be late
# because it shares CPUs with the engine; on a GPU machine leave max_lag out.
workload "chat" {
  api           = "chat"
  system_tokens = 480
  prompt_tokens = 32
  output_tokens = 8
  requests      = 6
  warmup        = 1
  max_lag       = "1s"
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

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "prefix_cache" {
  feature "prefix_cache" {
    set = { prefix_cache = "on" }

    hypothesis {
      metric  = "chat.ttft"
      expect  = "-70%"
      because = "fifteen sixteenths of what is prefilled are the same for everybody"
    }
    criterion "first_token" {
      rule = "chat.ttft.gain >= 0.5"
    }
    # Of 512 prompt tokens, the full blocks of 16 that the system prompt fills.
    criterion "found" {
      rule = "chat.cached_tokens >= 400 and chat.prefix_hit_rate >= 0.7"
    }
  }

  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    rule "the first token comes sooner" {
      rule = "chat.ttft.gain >= 0.5"
    }
    rule "the engine counts what it found" {
      rule = "chat.prefix_hit_rate >= 0.7"
    }
  }
}
