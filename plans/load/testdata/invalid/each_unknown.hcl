plan "p" {}
variable "ports" { # ERROR: Missing value for variable
  type = list(string)
}
workload "chat" {
  for_each      = var.ports
  prompt_tokens = 8
  output_tokens = 8
}
protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat["a"]]
  }
}
