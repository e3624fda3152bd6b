plan "p" {}
engine "embedded" "tiny" {
  env = { MXFLOW_EMBEDDED_KV_CACH = "on", MXFLOW_EMBEDDED_MOE = "all" } # ERROR: Unknown variable of an engine
}
knob "kv" {
  default = "off"
  value "off" {
    env = { MXFLOW_EMBEDDED_KVCACHE = "off", MXFLOW_OTHER = "x" } # ERROR: Unknown variable of an engine
  }
}
