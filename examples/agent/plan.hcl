# What an agent is paid by: a person wrote the rules and sealed them, and main.go, a loop
# without a language model, proposes five ports and reads what each pays.
#
#   mxflow seal --knob port --features 5 --launches 150 plan.hcl
#   go run main.go
#
# exit status: 2
# feature.control: fail

plan "agent" {
  summary = "Five ports, an honest one among them, and one that is paid"
}

# The engine computes every token, and sleeps for what a step leaves of its pace, so that a
# busy machine is no faster or slower for it.
engine "embedded" "tiny" {
  settings = { layers = 2 }
}

knob "port" {
  default = "off"

  value "off" {
    env = { MXFLOW_EMBEDDED_MOE = "all", MXFLOW_EMBEDDED_PACE = "6ms" }
    must_see {
      log = ["*using kernel moe_all_experts*"]
    }
  }

  value "control" {
    env = { MXFLOW_EMBEDDED_MOE = "all", MXFLOW_EMBEDDED_PACE = "9ms" }
    must_see {
      log = ["*using kernel moe_all_experts*"]
    }
  }
  # values
}

workload "chat" {
  prompt_tokens = 8
  output_tokens = 16
  requests      = 4
  warmup        = 1
  max_lag       = "1s"
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
  }
}

decision {
  false_pass = 0.01 # of each proposal, in all of its tries together less than twice that
  launches   = { min = 4, max = 8 }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "port" {
  # Proposals are judged by its criteria. It is slower, so that one knows what is not paid.
  feature "control" {
    set = { port = "control" }

    criterion "decode" {
      rule = "chat.tg.gain >= 0.05"
    }
  }
  # features
}
