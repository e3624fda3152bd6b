plan "p" {}
workload "chat" {
  for_each      = ["short", "long"]
  prompt_tokens = 8
  output_tokens = 8
}
engine "embedded" "tiny" {
  for_each = ["a", "b"]
}
protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat["shrt"]] # ERROR: Unknown workload
  }
}
baseline {
  engine   = engine.embedded.tiny # ERROR: Not a reference
  protocol = protocol.quick
}
