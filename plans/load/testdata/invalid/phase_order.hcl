plan "p" {}
phase "a" {
  after = [phase.a] # ERROR: Phase after itself
  step "exec" "s" {
    command = ["true"]
  }
}
phase "b" {
  after         = [phase.a, phase.a] # ERROR: Duplicate reference
  after_decided = [phase.a, phase.cc] # ERROR: Unknown phase
  step "exec" "s" {
    command = ["true"]
  }
}
phase "c" {
  after = phase.b # ERROR: Wrong type for after
  step "exec" "s" {
    command = ["true"]
  }
}
phase "d" {
  after_decided = [phase.a, phase.b] # ERROR: Duplicate reference
  after         = ["b", phase.b] # ERROR: Not a reference
  step "exec" "s" {
    command = ["true"]
  }
}
