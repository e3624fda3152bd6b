plan "p" {}
knob "empty" { # ERROR: Knob without values
  default = "off"
}
knob "cache" {
  default = "of" # ERROR: Unknown knob value
  value "off" {}
  value "on" {}
  value "on" {} # ERROR: Duplicate value
}
knob "none" { # ERROR: Missing default
  value "a b" {} # ERROR: Invalid value name
}
