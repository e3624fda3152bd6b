plan "p" {}
knob "cache" {
  for_each = ["a"] # ERROR: Unsupported argument
  default  = "off"
  value "off" {}
}
