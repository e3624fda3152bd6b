workload "chat" { # ERROR: Missing plan block | Missing output_tokens
  promt_tokens  = 64 # ERROR: Unsupported argument
  prompt_tokens = 64
}
phase "port" {
  feature "cached" { # ERROR: Missing baseline
    set = { cache = "on" } # ERROR: Unknown knob
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
