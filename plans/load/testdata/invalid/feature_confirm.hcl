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

engine "embedded" "large" {}

engine "vllm" "large" {}

engine "openai" "other" {
  process {
    command = ["serve", "--port", "{port}"]
  }
}

phase "port" {
  feature "same" {
    set = { spec = "short" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = engine.embedded.tiny # ERROR: Confirmation on the same engine
    }
  }
  feature "twice" {
    set = { spec = "short" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = engine.embedded.large
    }
    confirm {
      engine = engine.embedded.large # ERROR: Duplicate confirmation
    }
  }
  feature "unknown" {
    set = { spec = "short" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = engine.embedded.huge # ERROR: Unknown engine
    }
  }
  feature "text" {
    set = { spec = "short" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = "large" # ERROR: Not a reference
    }
  }
  feature "none" {
    set = { spec = "short" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {} # ERROR: Missing engine
  }
  feature "criteria" {
    set = { spec = "short" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = engine.embedded.large
      criteria = ["decod", "decode", "decode"] # ERROR: Unknown criterion | Duplicate criterion in criteria
    }
  }
  feature "empty" {
    set = { spec = "short" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = engine.embedded.large
      criteria = [] # ERROR: Empty criteria
    }
  }
  feature "fine" {
    set = { spec = "short" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
    confirm {
      engine = engine.embedded.large
      criteria = ["decode"]
    }
    confirm {
      engine = engine.vllm.large
    }
    confirm {
      engine = engine.openai.other
    }
  }
}
