plan "p" {}
decision {
  launches = { mx = 8, min = 2.5 } # ERROR: Unknown bound | Invalid launches.min
}
