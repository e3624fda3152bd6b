include = ["include_itself.hcl"] # ERROR: Cycle of includes
plan "p" {}
