plan "p" {}
engine "embedded" "tiny" {
  count = -1 # ERROR: Invalid count
}
engine "embedded" "many" {
  count = 1001 # ERROR: Invalid count
}
