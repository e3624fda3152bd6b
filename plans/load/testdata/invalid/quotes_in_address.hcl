plan "p" {}
phase "x" {
  gate {
    rule "a" { expr = "feature["kv"].accepted" } # ERROR: Quotes within quotes
  }
}
