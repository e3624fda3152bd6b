plan "p" {
  summary = "${1e999999999}" # ERROR: Number too large
}
