plan "p" {}
decision {
  false_pass = "1%" # ERROR: Wrong type for false_pass
  false_fail = 1.5 # ERROR: Invalid false_fail
  launches   = { min = 8, max = 4 } # ERROR: Invalid launches
  lanches    = 3 # ERROR: Unsupported argument
}
decision { # ERROR: Duplicate decision block
  launches = 8
}
