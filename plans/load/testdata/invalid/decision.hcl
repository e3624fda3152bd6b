# Rates and launches that are not offered.
plan "p" {}
decision {
  false_pass = 0.03 # ERROR: Decision is not offered
  false_fail = 0.2 # ERROR: Decision is not offered
  launches   = { max = 100 } # ERROR: Decision is not offered
}
