plan "p" {}
workload "chat" {
  request_timeout = 2m # ERROR: Missing newline after argument
}
