plan "p" {
  summary = file("/etc/hostname") # ERROR: Call to unknown function
}
