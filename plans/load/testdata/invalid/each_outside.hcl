plan "p" {
  summary = each.key # ERROR: Nothing is repeated here
}
engine "embedded" "tiny" {
  args = ["${count.index}"] # ERROR: Nothing is repeated here
}
