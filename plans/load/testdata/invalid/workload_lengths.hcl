plan "p" {}
workload "both" {
  prompt_tokens = 512 # ERROR: Conflicting arguments
  output_tokens = 32
  prompt_lengths {
    distribution = "normal"
    mean         = 512
    std          = 10
  }
}
workload "shape" {
  prompt_lengths {
    distribution = "zipf" # ERROR: Invalid distribution
    mean         = 0 # ERROR: Invalid mean
    std          = -1 # ERROR: Invalid std
    max          = 2.5 # ERROR: Invalid max
  }
  output_lengths { # ERROR: Missing distribution
    mean = 10
    std  = 2
  }
}
workload "halves" {
  prompt_lengths { # ERROR: Missing max
    distribution = "uniform"
    min          = 10
    mean         = 20 # ERROR: Conflicting arguments
  }
  output_lengths { # ERROR: Missing mean
    distribution = "lognormal"
    std          = 20
  }
}
workload "order" {
  prompt_lengths {
    distribution = "uniform"
    min          = 100 # ERROR: Contradictory lengths
    max          = 10
  }
  output_lengths {
    distribution = "normal"
    mean         = 900 # ERROR: Contradictory lengths
    std          = 20
    max          = 800
  }
}
workload "twice" {
  output_tokens = 8
  prompt_lengths {
    distribution = "uniform"
    min          = 1
    max          = 10
  }
  prompt_lengths { # ERROR: Duplicate prompt_lengths block
    distribution = "uniform"
    min          = 1
    max          = 10
  }
}
