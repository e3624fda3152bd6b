plan "p" {}
phase "a" {
  after = [phase.c] # ERROR: Cycle of phases
  step "exec" "s" {
    command = ["true"]
  }
}
phase "b" {
  after = [phase.a]
  step "exec" "s" {
    command = ["true"]
  }
}
phase "c" {
  after_decided = [phase.b]
  step "exec" "s" {
    command = ["true"]
  }
}
