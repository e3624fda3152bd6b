plan "p" {}
engine "embedded" "tiny" {}
engine "embedded" "tiny" {} # ERROR: Duplicate engine
