plan "p" {}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
target "llama.cpp" { # ERROR: Name is not an identifier
  metrics = {
    chta = { tg = 57 } # ERROR: Unknown workload
  }
}
target "sglang" {
  metrics = {
    chat = { tgs = 52, tg = "52" } # ERROR: Unknown metric | Wrong type for tg
  }
}
target "none" {} # ERROR: Missing metrics
target "flat" {
  metrics = { chat = 52 } # ERROR: Wrong type for metrics
}
