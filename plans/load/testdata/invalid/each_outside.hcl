plan "p" {
  summary = each.key # ERROR: Nothing is repeated here
}
engine "embedded" "tiny" {
  args = ["${each.value}"] # ERROR: Nothing is repeated here
}
