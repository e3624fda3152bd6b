plan "smallest-1.0" {}
