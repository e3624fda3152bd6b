plan "p" {}
phase "x" {
  gate {
    rule "a" { rule = "feature["kv"].accepted" } # ERROR: Quotes within quotes
  }
}
