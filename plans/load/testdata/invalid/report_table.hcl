# Neither does a table.
plan "p" {}
report {
  table "power" {} # ERROR: Missing columns
}
