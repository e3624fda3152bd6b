# What TestForgedLevels edits: a feature whose levels have evidence of each kind.

plan "forged" {}

engine "embedded" "tiny" {
  settings = { layers = 1 }
}

knob "kv_cache" {
  default = "off"
  value "off" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "off" }
    must_see { log = ["*using kernel full_prefix_attention_recompute*"] }
  }
  value "on" {
    env = { MXFLOW_EMBEDDED_KV_CACHE = "on" }
    must_see { log = ["*using kernel decode_attention_kvcache*"] }
  }
}

protocol "levels" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}
  level "correctness" {
    prompts       = 8
    prompt_tokens = [8]
    output_tokens = 20
    max_kl        = 0.05
  }
  level "stress" {
    sequential    = 2
    prompt_tokens = [8]
    output_tokens = [4]
  }
  level "exec" "accuracy" {
    command = ["echo", "{\"right\":12}"]
    metric "score" {
      jq     = ".right / 16"
      unit   = "share"
      better = "higher"
    }
  }
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.levels
}

phase "port" {
  feature "cached" {
    set = { kv_cache = "on" }
    criterion "score" {
      rule = "levels.accuracy.score.delta >= -0.1"
    }
  }
}
