plan "p" {}
knob "cache" {
  default = "off"
  value "off" {}
  dynamic "value" {
    for_each = range(1001) # ERROR: Too many blocks
    labels   = ["v${value.value}"]
    content {}
  }
}
