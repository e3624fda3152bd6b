plan "p" {}
phase "nothing" {} # ERROR: Empty phase
phase "full-pipe" { # ERROR: Name is not an identifier
  gate { # ERROR: Gate without rules
  }
}
