plan "p" {}
phase "x" {
  gate {
    rule "a" {
      rule = "levels.kernels == "pass"" # ERROR: Quotes within quotes
    }
  }
}
