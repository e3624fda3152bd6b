# A feature that chooses, and is confirmed on two engines of one name.
plan "choose" {}

engine "embedded" "tiny" {}

workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}

knob "cache" {
  default = "off"
  value "off" {}
  value "on" {
    settings = { kv_cache = true }
  }
}

knob "spec" {
  default = "none"
  value "none" {}
  value "short" {
    env = { SPEC = "3" }
  }
  value "long" {
    env = { SPEC = "9" }
  }
}

protocol "quick" { # WARNING: Nothing is qualified
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.quick
}

engine "embedded" "large" {}

engine "vllm" "large" {}

engine "vllm" "other" {}

locals {
  tried = ["short", "long"]
}

phase "port" {
  feature "speculation" {
    set    = { cache = "on" }
    choose = { spec = local.tried }
    prefer = "chat.ttft"
    accept = ["decode"]

    criterion "decode" {
      rule = "chat.tg.gain >= 0.10"
    }
    criterion "memory" {
      rule = "chat.e2e.change <= 0.02"
    }
    confirm {
      engine = engine.embedded.large
    }
    confirm {
      engine   = engine.vllm.large
      criteria = ["memory"]
    }
    confirm {
      engine = engine.vllm.other
    }
  }
  feature "preferred_by_default" {
    choose = { spec = ["short", "long"] }
    accept = ["decode"]

    criterion "level" {
      rule = "chat.e2e.median <= 5"
    }
    criterion "decode" {
      rule = "chat.tg >= 1.10 * chat.tg.base"
    }
  }
  feature "on_the_winner" {
    set       = { spec = "short" }
    builds_on = feature.speculation

    criterion "decode" {
      rule = "chat.tg.gain >= 0.10"
    }
  }
}
