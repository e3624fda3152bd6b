# A port that everybody expects to win. Prompt-lookup speculation drafts the next
# tokens for free, from what is already in the prompt, and verifies all of them in
# one pass: papers report +50% and more. That holds where answers repeat their
# prompt. Here they do not: nearly every draft is wrong, each wrong token costs a
# computed position, and decoding gets about half as fast. The acceptance rate,
# read from the engine's own counters, says why, and the gate fails.
#
#   mxflow apply examples/speculation/plan.hcl
#   mxflow audit examples/speculation/plan.hcl    # the numbers that it failed on
#
# exit status: 2

plan "speculation" {
  summary = "Draft eight tokens a step from the prompt and verify them in one pass"
}

engine "embedded" "tiny" {
  settings = {
    threads = 1
  }
}

knob "speculation" {
  default = "off"

  value "off" {
    env = { MXFLOW_EMBEDDED_SPECULATION = "off" }
    must_see {
      log = ["*using kernel decode_attention_kvcache*"]
    }
    must_not_see {
      log = ["*using kernel prompt_lookup*", "*using kernel draft_verify*"]
    }
  }

  # A lookup proves little; a verified draft does.
  value "eight" {
    env = { MXFLOW_EMBEDDED_SPECULATION = "prompt_lookup:8" }
    must_see {
      log = ["*speculation: using kernel prompt_lookup_ngram*", "*speculation: using kernel draft_verify_batched*"]
    }
  }
}

workload "chat" {
  prompt_tokens = 128
  output_tokens = 96
  requests      = 5
  warmup        = 1
  max_lag       = "1s" # engine and client share processors here
}

protocol "standard" {
  # " Paris, and its river is the Seine.": its second "is" brings the first draft.
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}

baseline {
  engine   = engine.embedded.tiny # without speculation
  protocol = protocol.standard
}

phase "speculation" {
  feature "prompt_lookup" {
    set = { speculation = "eight" }

    hypothesis {
      metric  = "chat.tg"
      expect  = "+50%"
      because = "several tokens a step for little more than the price of one"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.25"
    }
    criterion "acceptance" {
      rule = "chat.accept_rate >= 0.5"
    }
    criterion "tokens_per_step" {
      rule = "chat.accept_length >= 2"
    }
  }

  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    rule "decode is faster" {
      rule = "chat.tg.gain >= 0.25"
    }
  }
}
