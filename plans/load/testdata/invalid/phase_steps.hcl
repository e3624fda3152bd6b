plan "p" {}
phase "build" {
  step "exe" "compile" { # ERROR: Unknown step kind
    command = ["make"]
  }
  step "exec" "compile" {
    comand  = ["make"] # ERROR: Unsupported argument
    timeout = "soon" # ERROR: Invalid duration
    env     = { JOBS = 2 } # ERROR: Not text
  }
  step "exec" "test" {
    command = "make test" # ERROR: Wrong type for command
  }
  step "exec" "test" { # ERROR: Duplicate step
    command = ["make", "test"]
  }
  step "exec" "in-between" { # ERROR: Name is not an identifier
    command = ["make", 2] # ERROR: Not text
  }
}
