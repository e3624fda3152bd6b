# A report without columns shows nothing.
plan "p" {}
report {} # ERROR: Report without columns
