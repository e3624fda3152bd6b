include = ["rules.hcl"]

plan "long" {
  summary = "Other error rates, and looks from one launch to twelve"
}

decision {
  false_pass = 0.02
  false_fail = 0.1
  launches   = { min = 1, max = 12 }
}
