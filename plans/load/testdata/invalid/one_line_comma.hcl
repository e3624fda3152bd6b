plan "p" {}
engine "embedded" "tiny" { model = "x", env = { A = "b" } } # ERROR: Too much on one line
