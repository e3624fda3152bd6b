# A port that loses, and what happens then. Someone offers to save the memory of
# the KV cache by recomputing the whole prefix for each token. It works, the text
# is the same, and decoding gets many times slower. So the gate fails, the phase
# that would have built on it stays locked, and apply exits with 2.
#
#   mxflow apply examples/rejected/plan.hcl
#   mxflow audit examples/rejected/plan.hcl    # the numbers that it failed on
#
# exit status: 2

plan "rejected" {
  summary = "Save memory by recomputing attention, if that costs next to nothing"
}

engine "embedded" "tiny" {
  settings = {
    threads = 1
  }
}

# The default is what runs today. The value under test must prove itself in the
# same way: a port that silently falls back to the old kernel would lose nothing
# and prove nothing.
knob "attention" {
  default = "cached"

  value "cached" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
  }

  value "recompute" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off" }
    must_see {
      log = ["*using kernel full_prefix_attention_recompute*"]
    }
    must_not_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
  }
}

workload "chat" {
  prompt_tokens = 64
  output_tokens = 32
  requests      = 4
  warmup        = 1
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

phase "save_memory" {
  feature "recompute" {
    set = { attention = "recompute" }

    # The claim is kept beside the measurement, even if it turns out wrong.
    hypothesis {
      metric  = "chat.tg"
      expect  = ">= -3%"
      because = "the prompts are short, so there is little to compute again"
    }

    # Both criteria are recorded. Only decode decides whether the port enters the
    # stack: a few bytes saved do not buy slow answers.
    accept = ["decode"]
    criterion "decode" {
      rule = "chat.tg.gain >= -0.03"
    }
    criterion "memory" {
      rule = "engine.memory_gb.change <= 0.05"
    }
  }

  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    rule "decode did not regress" {
      rule = "chat.tg.gain >= -0.03"
    }
  }
}

# Nothing in this phase runs, and every line about it names the gate above as the
# cause. With after_decided instead of after it would still run.
phase "longer_context" {
  after = [phase.save_memory]

  step "exec" "announce" {
    command = ["echo", "the memory that was saved goes into longer contexts"]
  }
}
