plan "p" {}
baseline {
  engine   = engine.embedded.tyni # ERROR: Unknown engine
  protocol = "quick" # ERROR: Not a reference
  set      = { cahce = "on" } # ERROR: Unknown knob
}
baseline { # ERROR: Duplicate baseline block
}
engine "embedded" "tiny" {}
protocol "quick" {
  level "kernels" {
    from = ["log"]
  }
}
knob "cache" {
  default = "on"
  value "on" {}
}
