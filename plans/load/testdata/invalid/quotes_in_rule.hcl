plan "p" {}
phase "x" {
  gate {
    rule "a" {
      expr = "levels.kernels == "pass"" # ERROR: Quotes within quotes
    }
  }
}
