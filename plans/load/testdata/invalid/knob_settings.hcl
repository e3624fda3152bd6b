plan "p" {}
engine "embedded" "tiny" {}
knob "cache" {
  default = "on"
  value "on" {
    settings = { kv_cahe = true } # ERROR: Unknown setting
    env      = { CACHE = 1 } # ERROR: Not text
  }
}
