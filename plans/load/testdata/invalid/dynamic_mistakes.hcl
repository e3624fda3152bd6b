plan "p" {}
knob "cache" {
  default = "off"
  value "off" {}
  dynamic "valeu" { # ERROR: Unsupported block type
    for_each = ["on"]
    labels   = [valeu.value]
    content {}
  }
  dynamic "value" {
    for_each = local.nothing # ERROR: Unsupported attribute
    labels   = [value.value]
    content {}
  }
  dynamic "value" {
    for_each = 5 # ERROR: Wrong type for for_each
    labels   = [value.value]
    content {}
  }
}
