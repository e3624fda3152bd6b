plan "p" {
  summary = engine.embeded # ERROR: Unknown engine
}
engine "embedded" "tiny" {}
baseline {
  engine   = engine.embedded # ERROR: Not a reference
  protocol = accepted # ERROR: Wrong kind of reference
}
