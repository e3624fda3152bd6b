# What a change that does nothing comes out as, and two whose effect is known.
# TestAA applies it many times.

plan "aa" {}

variable "feature" {
  type    = string
  default = "nothing"
}

locals {
  # What is under test, and the rule that decides.
  of = {
    nothing = { knob = "label", value = "b", rule = "chat.tg.gain >= 0.05" }
    slower  = { knob = "kv_cache", value = "off", rule = "chat.tg.gain >= -0.03" }
    faster  = { knob = "kv_cache", value = "on", rule = "chat.tg.gain >= 0.05" }
  }
  it = local.of[var.feature]
}

engine "embedded" "tiny" {
  env = { MXFLOW_EMBEDDED_PACE = "2ms" }
}

# A variable that no engine reads.
knob "label" {
  default = "a"
  value "a" {
    env = { MXFLOW_AA_LABEL = "a" }
  }
  value "b" {
    env = { MXFLOW_AA_LABEL = "b" }
  }
}

knob "kv_cache" {
  default = var.feature == "faster" ? "off" : "on"
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
  }
  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off", MXFLOW_EMBEDDED_PACE = "4ms" }
    must_see {
      log = ["*using kernel full_prefix_attention_recompute*"]
    }
  }
}

workload "chat" {
  max_lag       = "1m"
  prompt_tokens = 16
  output_tokens = 24
  requests      = 4
  warmup        = 1
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "one" {
  feature "change" {
    set = { (local.it.knob) = local.it.value }

    criterion "decode" {
      rule = local.it.rule
    }
  }
}
