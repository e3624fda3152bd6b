include = ["rules.hcl"]

plan "usual" {
  summary = "As decided unless a plan says otherwise"
}

decision {
  false_pass = 0.01
  false_fail = 0.05
  launches   = { min = 3, max = 8 }
}
