plan "p" {}
workload "full-pipe" { # ERROR: Name is not an identifier
  prompt_tokens = 64
  output_tokens = 16
}
workload "2k" { # ERROR: Name is not an identifier
  prompt_tokens = 64
  output_tokens = 16
}
workload "gpu" { # ERROR: Reserved name
  prompt_tokens = 64
  output_tokens = 16
}
workload "not" { # ERROR: Reserved name
  prompt_tokens = 64
  output_tokens = 16
}
workload "" { # ERROR: Missing name
  prompt_tokens = 64
  output_tokens = 16
}
workload "a chat" { # ERROR: Name is not an identifier
  prompt_tokens = 64
  output_tokens = 16
}
