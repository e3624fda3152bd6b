# Traffic as it was recorded: requests arrive when the trace says, and prompts have its
# lengths and share the beginnings that it says. So a prefix cache finds what it would
# find in production, and the share is known before: prefix_shared is by the trace,
# prefix_found is what the engine made of it.
#
#   mxflow plan examples/traffic/plan.hcl              # what is sent, and what was cut
#   mxflow apply examples/traffic/plan.hcl
#   mxflow report examples/traffic/plan.hcl            # and how requests queued
#
# The trace was made for this example, in Mooncake's format. Name your own instead.
#
# exit status: 0

plan "traffic" {
  summary = "A prefix cache under recorded traffic"
}

engine "embedded" "tiny" {
  settings = {
    threads      = 1
    layers       = 1
    max_num_seqs = 16
  }
}

knob "prefix_cache" {
  default = "off"

  value "off" {
    env = { MXFLOW_EMBEDDED_PREFIX_CACHE = "off" }
    must_not_see {
      log = ["*using kernel prefix_block_lookup*"]
    }
  }
  value "on" {
    env = { MXFLOW_EMBEDDED_PREFIX_CACHE = "on" }
    must_see {
      log = ["*prefix_cache: using kernel prefix_block_lookup*"]
    }
  }
}

# The client is allowed to be late because it shares CPUs with the engine; on a GPU
# machine leave max_lag out.
workload "chat" {
  trace             = "trace.jsonl"
  speed             = 1.5
  max_prompt_tokens = 1536
  warmup            = 1
  max_lag           = "1s"

  slo {
    ttft = "1s"
  }
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
      metric  = "chat.prefix_found"
      expect  = ">= 0.9"
      because = "all that prompts share fits into the cache"
    }
    criterion "found" {
      rule = "chat.prefix_found >= 90%"
    }
  }
}

report {
  columns = ["chat.ttft", "chat.ttft_to_4k", "chat.goodput", "chat.prefix_found"]
}
