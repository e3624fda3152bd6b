plan "p" {}
baseline { # ERROR: Missing engine | Missing protocol
  set = { cache = "onn" } # ERROR: Unknown knob value
}
knob "cache" {
  default = "on"
  value "on" {}
}
