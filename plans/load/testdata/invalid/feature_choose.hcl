plan "p" {}

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

protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.quick
}

phase "port" {
  feature "two_knobs" {
    choose = { cache = ["on"], spec = ["short", "long"] } # ERROR: choose takes one knob
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "no_knob" {
    choose = {} # ERROR: choose takes one knob
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "one_value" {
    choose = { spec = ["short"] } # ERROR: Wrong number of values in choose
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "none" {
    choose = { spec = [] } # ERROR: Wrong number of values in choose
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "twice" {
    choose = { spec = ["short", "long", "short"] } # ERROR: Duplicate value in choose
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "unknown" {
    choose = { spec = ["short", "lnog"] } # ERROR: Unknown knob value
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "unknown_knob" {
    choose = { sepc = ["short", "long"] } # ERROR: Unknown knob
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "parent" {
    choose = { spec = ["short", "none"] } # ERROR: Knob value does not change
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "both" {
    set    = { spec = "short" }
    choose = { spec = ["short", "long"] } # ERROR: Knob is set and chosen
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "text" {
    choose = { spec = "short" } # ERROR: Wrong type for choose
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "list" {
    choose = ["short", "long"] # ERROR: Wrong type for choose
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "numbers" {
    choose = { spec = [1, 2] } # ERROR: Not text | Not text
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "prefers_alone" {
    set    = { spec = "short" }
    prefer = "chat.tg" # ERROR: Argument has no effect
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "prefers_badly" {
    choose = { spec = ["short", "long"] }
    prefer = "tg" # ERROR: Invalid metric address
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "chooses" {
    choose = { spec = ["short", "long"] }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "child" {
    set       = { spec = "short" }
    builds_on = feature.chooses
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "child_of_fixed" {
    choose    = { spec = ["short", "long"] } # ERROR: Knob value does not change
    builds_on = feature.sets
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "sets" {
    set = { spec = "long" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
