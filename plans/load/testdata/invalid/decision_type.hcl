plan "p" {}
decision {
  launches = 8 # ERROR: Wrong type for launches
}
