plan "p" {}
knob "cache" {
  default = "off"
  value "off" {}
  dynamic "value" {
    for_each = setproduct(range(110), range(110)) # ERROR: Too many blocks
    labels   = ["v${value.key}"]
    content {}
  }
}
