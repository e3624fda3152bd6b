plan "p" {}
workload "chat" {
  prompt_tokens = 8
  output_tokens = 8
}
suite "quick" { # ERROR: Missing workloads
  summary = "nothing"
}
suite "none" {
  workloads = [] # ERROR: Empty workloads
}
suite "wrong" {
  workloads = [workload.chta, protocol.standard] # ERROR: Unknown workload
}
suite "twice" {
  workloads = [workload.chat, workload.chat] # ERROR: Duplicate reference
}
suite "quick" { # ERROR: Duplicate suite
  workloads = [workload.chat]
}
suite "full-width" { # ERROR: Name is not an identifier
  workloads = [workload.chat]
}
suite "many" {
  for_each  = ["a"] # ERROR: Unsupported argument
  workloads = [workload.chat]
}
protocol "standard" {
  level "benchmark" {
    suite = suite.quik # ERROR: Unknown suite
  }
}
