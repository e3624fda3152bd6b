# A report without columns shows nothing.
plan "p" {}
report {} # ERROR: Missing columns
