plan "p" {
  summary = ["never closed"
} # ERROR: Missing item separator
workload "chat" {
  prompt_tokens = "so this is not looked at"
}
