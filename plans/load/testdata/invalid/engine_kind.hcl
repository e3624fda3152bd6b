plan "p" {}
engine "embeded" "tiny" {} # ERROR: Unknown engine kind
engine "openai" "server" { # ERROR: Missing process block
  model = "m"
}
