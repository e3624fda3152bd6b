# A service under load. Speed for one user says little about an engine that many
# use at once, so this plan measures in two ways: `users` keeps 1 and then 4
# requests in flight (a closed loop), and `traffic` sends on schedule, however slow
# the answers are (an open loop). Only the second shows a growing queue: its
# latencies count from when a request should have been sent.
#
#   mxflow apply examples/load/plan.hcl
#   mxflow show latest examples/load/plan.hcl     # what each launch measured
#   mxflow plan --suite full examples/load/plan.hcl
#
# exit status: 0

plan "load" {
  summary = "A KV cache, for one user, for four, and for 24 requests a second"
}

engine "embedded" "tiny" {
  settings = {
    threads = 1
    # Requests that take turns at the model. If a workload asks for more at once, the
    # rest wait.
    max_num_seqs = 4
  }
}

knob "kv_cache" {
  default = "off"

  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off" }
    must_see {
      log = ["*using kernel full_prefix_attention_recompute*"]
    }
  }

  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
    must_not_see {
      log = ["*using kernel full_prefix_attention_recompute*"]
    }
  }
}

# A list makes a cell of each value, and an element of its address: rules read
# users.c1.tg and users.c4.tg. Each cell is measured separately in every launch.
#
# The metric users.c4.reached_concurrency is how many of the 4 the engine worked on at
# once. Engine and client share CPUs here, so the client is allowed to be late; on a
# GPU machine leave max_lag out.
workload "users" {
  prompt_tokens = 32
  output_tokens = 16
  concurrency   = [1, 4]
  requests      = 8
  warmup        = 1
  max_lag       = "1s"
}

# The engine cannot serve 24 requests per second without a cache. 4 are in flight;
# the others wait in the client while their latency runs: metric queue.
workload "traffic" {
  prompt_tokens   = 64
  output_tokens   = 16
  rate            = 24
  arrival         = "poisson"
  max_concurrency = 4
  requests        = 8
  warmup          = 1
  max_lag         = "1s"

  # What makes an answer good: slo_attainment is the share of good answers, and
  # goodput their number per second.
  slo {
    e2e = "200ms"
  }
}

# Context before the prompt: measured by --suite full only.
workload "deep" {
  prompt_tokens = 32
  output_tokens = 8
  depth         = [64, 256]
  requests      = 4
  max_lag       = "1s"
}

# Tiers. --suite quick sends less than the gate below reads, so its verdict is
# inconclusive and names the suite: what was not measured opens no gate.
suite "quick" {
  summary   = "Is it worth a longer look?"
  workloads = [workload.users]
}

suite "standard" {
  summary   = "What the gate asks for"
  workloads = [workload.users, workload.traffic]
}

suite "full" {
  summary   = "With long contexts"
  workloads = [workload.users, workload.traffic, workload.deep]
}

protocol "served" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    suite    = suite.standard
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.served
}

phase "cache" {
  feature "kv_cache" {
    set = { kv_cache = "on" }

    hypothesis {
      metric  = "users.c4.tg_total"
      expect  = "+200%"
      because = "a token costs one position instead of the whole sequence, for each of the four"
    }
    criterion "one_user" {
      rule = "users.c1.tg.gain >= 0.5"
    }
    criterion "four_users" {
      rule = "users.c4.tg_total.gain >= 0.5"
    }
  }

  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    # Shares are compared by their difference: a baseline of 0 has no ratio.
    rule "traffic is served in time" {
      rule = "traffic.slo_attainment.delta >= 0.25"
    }
    rule "nobody waits a tenth of a second longer" {
      rule = "traffic.queue.delta <= 100"
    }
    # Garbage would be fast, too. The answers of both arms are compared
    # without a rule; this rule covers failed requests.
    rule "every request is answered" {
      rule = "traffic.errors == 0"
    }
  }
}
