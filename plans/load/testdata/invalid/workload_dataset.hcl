plan "p" {}
workload "nameless" {
  output_tokens = 8
  dataset { # ERROR: Missing file
  }
}
workload "absent" {
  output_tokens = 8
  dataset {
    file = "no_such.jsonl" # ERROR: Unusable dataset
  }
}
workload "folder" {
  output_tokens = 8
  dataset {
    file = "../invalid" # ERROR: Unusable dataset
  }
}
workload "empty" {
  output_tokens = 8
  dataset {
    file = "workload_empty.jsonl" # ERROR: Unusable dataset
  }
}
workload "damaged" {
  output_tokens = 8
  dataset {
    file = "workload_damaged.jsonl" # ERROR: Unusable dataset
  }
}
workload "lengths" {
  prompt_tokens = 8 # ERROR: Conflicting arguments
  output_tokens = 8
  dataset {
    file = "workload_rows.jsonl"
  }
}
workload "made" {
  output_tokens = 8
  api           = "chat"
  warmup        = 0
  depth         = 512 # ERROR: Conflicting arguments
  system_tokens = 64 # ERROR: Conflicting arguments
  dataset {
    file = "workload_rows.jsonl"
  }
}
workload "chat_only" {
  output_tokens = 8
  warmup        = 0
  dataset { # ERROR: Unusable dataset
    file = "workload_rows.jsonl"
  }
}
workload "unanswered" {
  api    = "chat"
  warmup = 0
  dataset { # ERROR: Missing output_tokens
    file = "workload_rows.jsonl"
  }
}
workload "short" {
  api           = "chat"
  output_tokens = 8
  requests      = 2
  dataset { # ERROR: Dataset is too short
    file = "workload_rows.jsonl"
  }
}
