# A plan: which performance features are ported, how each is measured, and which
# rules decide. Every block is explained in docs/language.md.

plan "first_port" {
  summary = "Say here what the effort is for"
}

# The engine under test. This one is inside mxflow: it needs no GPU, no model and
# no installation.
engine "embedded" "tiny" {
  settings = {
    threads = 1
  }
}

# A knob is one switch of the engine, with named values. Each value says what it
# sets, and which lines of the engine's log prove that it took effect: a fast
# engine on the wrong path has proved nothing.
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

# What is sent. Lists make cells: [16, 32] as output_tokens would be measured as
# chat.o16 and chat.o32.
workload "chat" {
  prompt_tokens = 48
  output_tokens = 24
  requests      = 8
  warmup        = 2
}

# The levels that a variant goes through, in order. One that does not pass stops
# the ones after it.
protocol "standard" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat] # in up to 8 launches of each arm, until every rule is settled
  }
}

# What everything is compared with: every knob at its default.
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

# A phase holds feature ports behind one gate.
phase "first" {
  feature "kv_cache" {
    set = { kv_cache = "on" }

    # The claim, made before measuring.
    hypothesis {
      metric  = "chat.tg"
      expect  = "+100%"
      because = "without a cache every token computes the whole sequence again"
    }

    # What lets the port into the stack. gain is relative to the parent, in the
    # metric's better direction: 0.5 is 50 per cent faster.
    criterion "decode" {
      rule = "chat.tg.gain >= 0.5"
    }
  }

  # What has to hold before phases after this one may start.
  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    rule "decode is faster" {
      rule = "chat.tg.gain >= 0.5"
    }
  }
}
