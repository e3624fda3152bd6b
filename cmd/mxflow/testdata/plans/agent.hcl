# What a coding agent ports into, through MCP alone: one feature that a person wrote and
# sealed, by whose criterion proposals are judged, and a knob that they may add values to.

plan "agent" {}

engine "embedded" "tiny" {
  settings = { layers = 2 }
}

knob "moe" {
  default = "all"

  value "all" {
    env = { MXFLOW_EMBEDDED_MOE = "all", MXFLOW_EMBEDDED_PACE = "6ms" }
    must_see {
      log = ["*using kernel moe_all_experts_mxfp4*"]
    }
  }

  value "also_all" {
    env = { MXFLOW_EMBEDDED_MOE = "all", MXFLOW_EMBEDDED_PACE = "6ms", AGENT = "1" }
    must_see {
      log = ["*using kernel moe_all_experts_mxfp4*"]
    }
  }
}

workload "chat" {
  max_lag       = "1m"
  prompt_tokens = 8
  output_tokens = 16
  requests      = 3
  warmup        = 1
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}
  level "profile" {
    prompt_tokens = 8
    steps         = 4
    concurrency   = [1]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}

decision {
  false_pass = 0.05
  false_fail = 0.1
  launches   = { min = 4, max = 8 }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "port" {
  feature "control" {
    set = { moe = "also_all" }

    criterion "decode" {
      rule = "chat.tg.gain >= 0.2"
    }
  }
}
