# The plan of the scenarios in which the engine runs in a container: the tiny plan
# with a rule on what is counted, which two launches an arm settle.

plan "docker" {
  summary = "A KV cache on the embedded engine, in a container"
}

variable "image" {
  type = string
}

variable "env" {
  type    = map(string)
  default = {}
}

engine "embedded" "boxed" {
  env      = merge({ MXFLOW_EMBEDDED_MOE = "all" }, var.env)
  settings = { layers = 6 } # slow enough that a busy system reads every token by itself

  docker {
    image = var.image
    pull  = "never"
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
  }
}

workload "chat" {
  max_lag       = "1m"
  prompt_tokens = 32
  output_tokens = 48
  requests      = 2
  warmup        = 1
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
    launches  = 2
  }
}

baseline {
  engine   = engine.embedded.boxed
  protocol = protocol.standard
}

phase "cache" {
  feature "kv_cache" {
    set = { kv_cache = "on" }

    criterion "decode" {
      rule = "chat.errors == 0"
    }
  }

  gate {
    rule "all are answered" {
      rule = "chat.errors == 0"
    }
    rule "kernels" {
      rule = "levels.kernels == 'pass'"
    }
  }
}
