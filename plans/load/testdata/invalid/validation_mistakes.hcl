plan "p" {}
variable "model" {
  default = "tiny" # ERROR: Invalid value for variable
  validation {
    condition     = contains(["small", "large"], var.model)
    error_message = "model is small or large."
  }
  validation { # ERROR: Missing error_message
    condition = true
  }
  validation { # ERROR: Missing condition
    error_message = "never"
  }
  validation {
    condition     = var.model # ERROR: Condition is not true or false
    error_message = "never"
  }
  validation {
    condition     = local.x # ERROR: Validation is limited to variables
    error_message = "never"
  }
}
