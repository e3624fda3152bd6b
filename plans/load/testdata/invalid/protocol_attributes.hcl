plan "p" {}
protocol "quick" {
  level "smoke" { # ERROR: Missing prompt
    expects    = "Paris" # ERROR: Unsupported argument
    max_tokens = 0 # ERROR: Invalid max_tokens
  }
  level "benchmark" {
    workloads = ["chat", workload.chat, workload.chat] # ERROR: Not a reference | Duplicate reference
    launches  = "3" # ERROR: Wrong type for launches
  }
}
protocol "none" {
  level "benchmark" {
    workloads = [] # ERROR: Empty workloads
  }
}
protocol "checked" {
  level "smoke" { # ERROR: Smoke test without an answer
    prompt = "Hello"
  }
}
protocol "pattern" {
  level "smoke" {
    prompt  = "Hello"
    pattern = "(unclosed" # ERROR: Invalid pattern
  }
}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
