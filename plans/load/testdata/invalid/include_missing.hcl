include = ["nowhere.hcl"] # ERROR: Cannot include file
plan "p" {}
