# The plan that most scenarios vary through its variables: one port, little more
# work than shows its effect, and a phase behind its gate. Launches are cheap, since
# there are hundreds of them: a quarter of the layers, short prompts, and a pace kept by
# sleeping, so that launches beside each other disturb each other little.

plan "tiny" {
  summary = "A KV cache on the embedded engine"
}

# Far below what the cache gives, since a launch may meet a machine that stands
# still, or a client that reads an answer in two pieces, at a million tokens/s:
# most scenarios only want a rule that passes.
variable "min_gain" {
  type    = number
  default = -0.999999
}

variable "launches" {
  type    = number
  default = 4
}

# Environment of every engine, of the baseline's alone, of the candidate's alone.
variable "env" {
  type    = map(string)
  default = {}
}

variable "off_env" {
  type    = map(string)
  default = {}
}

variable "on_env" {
  type    = map(string)
  default = {}
}

variable "on_log" {
  type    = string
  default = "*using kernel decode_attention_kvcache*"
}

variable "ready_timeout" {
  type    = string
  default = "1m"
}

variable "max_lag" {
  type    = string
  default = "1m"
}

variable "stall_timeout" {
  type    = string
  default = "1m"
}

engine "embedded" "tiny" {
  env = var.env

  settings = { layers = 1 }

  ready {
    timeout = var.ready_timeout
  }
}

knob "kv_cache" {
  default = "off"

  value "off" {
    env = merge({ MXFLOW_EMBEDDED_KV_CACHE = "off", MXFLOW_EMBEDDED_PACE = "4ms" }, var.off_env)
    must_see {
      log = ["*using kernel full_prefix_attention_recompute*"]
    }
  }

  value "on" {
    env = merge({ MXFLOW_EMBEDDED_KV_CACHE = "on", MXFLOW_EMBEDDED_PACE = "2ms" }, var.on_env)
    must_see {
      log = [var.on_log]
    }
  }
}

workload "chat" {
  max_lag       = var.max_lag
  prompt_tokens = 8
  output_tokens = 16
  requests      = 2
  warmup        = 1
  stall_timeout = var.stall_timeout
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
    launches  = var.launches
  }
}

# Scenarios are about other things than how sure a verdict is, and run on busy
# machines where single launches differ a lot; they count launches, too.
decision {
  false_pass = 0.05
  false_fail = 0.1
  launches   = { min = 4, max = 8 }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "cache" {
  feature "kv_cache" {
    set = { kv_cache = "on" }

    criterion "decode" {
      rule = "chat.tg.gain >= ${var.min_gain}"
    }
  }

  gate {
    rule "decode is faster" {
      rule = "chat.tg.gain >= ${var.min_gain}"
    }
  }
}

phase "next" {
  after = [phase.cache]

  step "exec" "unlocked" {
    command = ["echo", "unlocked"]
  }
}
