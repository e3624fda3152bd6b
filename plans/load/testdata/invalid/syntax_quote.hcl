plan "p" {
  summary = "never closed # ERROR: Invalid multi-line string | Unterminated template string
# ERROR: Invalid multi-line string
