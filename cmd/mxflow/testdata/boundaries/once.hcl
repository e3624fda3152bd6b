include = ["rules.hcl"]

plan "once" {
  summary = "One launch of each arm, which screens"
}

decision {
  false_pass = 0.01
  false_fail = 0.05
  launches   = { min = 1, max = 1 }
}
