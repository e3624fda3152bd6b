plan "p" {
  summary = timestamp() # ERROR: Call to unknown function
}
