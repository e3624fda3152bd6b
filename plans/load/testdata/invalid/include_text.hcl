include = "engines.hcl" # ERROR: Invalid include
plan "p" {}
