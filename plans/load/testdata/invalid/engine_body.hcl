plan "p" {}
engine "embedded" "tiny" {
  mdoel = "m" # ERROR: Unsupported argument
  env = {
    THREADS = 4 # ERROR: Not text
    DEBUG   = true # ERROR: Not text
    PATH    = "/bin"
    PATH    = "/usr/bin" # ERROR: Duplicate key
  }
  args = "--fast" # ERROR: Wrong type for args
  settings = {
    layer    = 4 # ERROR: Unknown setting
    kv_cache = "yes" # ERROR: Wrong type for kv_cache
    layers   = 0 # ERROR: Invalid layers
    moe      = "route" # ERROR: Invalid moe
  }
  ready {
    timeout = "15 minutes" # ERROR: Invalid duration
  }
  stop {
    grace = 10 # ERROR: Wrong type for grace
  }
}
engine "openai" "server" {
  process { # ERROR: Missing command
  }
  process { # ERROR: Duplicate process block
    command = ["serve"]
  }
}
engine "openai" "other" {
  process {
    command = [] # ERROR: Empty command
  }
}
