plan "p" {}
workload "paces" {
  trace       = "workload_trace.jsonl"
  rate        = 2 # ERROR: Conflicting arguments
  concurrency = 4 # ERROR: Conflicting arguments
  requests    = 4 # ERROR: Conflicting arguments
}
workload "lengths" {
  trace         = "workload_trace.jsonl"
  prompt_tokens = 8  # ERROR: Conflicting arguments
  depth         = 64 # ERROR: Conflicting arguments
}
workload "rows" {
  trace = "workload_trace.jsonl" # ERROR: Conflicting arguments
  output_tokens = 8
  dataset {
    file = "workload_rows.jsonl"
  }
}
workload "without" {
  prompt_tokens     = 8
  output_tokens     = 8
  speed             = 2   # ERROR: Argument has no effect
  max_prompt_tokens = 4   # ERROR: Argument has no effect
  trace_jq          = "." # ERROR: Argument has no effect
}
workload "absent" {
  trace = "no_such.jsonl" # ERROR: Unusable trace
}
workload "damaged" {
  trace = "workload_damaged.jsonl" # ERROR: Unusable trace
}
workload "past" {
  trace = "workload_trace.jsonl" # ERROR: Unusable trace
  from  = "1h"
}
workload "chat_only" {
  trace         = "workload_rows_timed.jsonl" # ERROR: Unusable trace
  output_tokens = 8
}
workload "unanswered" {
  api   = "chat"
  trace = "workload_rows_timed.jsonl" # ERROR: Missing output_tokens
}
workload "before" {
  trace = "workload_trace.jsonl"
  from  = "-1s" # ERROR: Invalid duration
}
