plan "p" {}
workload { # ERROR: Missing name for workload
  prompt_tokens = 64
}
engine "tiny" { # ERROR: Missing name for engine
}
