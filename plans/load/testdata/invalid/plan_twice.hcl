plan "one" {}
plan "two" {} # ERROR: Duplicate plan block
