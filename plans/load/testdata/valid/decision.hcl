plan "decision" {} # WARNING: Plan decides nothing

decision {
  false_pass = 0.001
  false_fail = 0.1
  launches   = { min = 4, max = 12 }
}
