plan "p" {}
workload "chat" { prompt_tokens = 3 output_tokens = 4 } # ERROR: Too much on one line
