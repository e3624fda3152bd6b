plan "p" {
  summary = "for ${local.secret}" # ERROR: Sensitive value is not allowed here
}
variable "token" {
  default   = "hf_secret" # ERROR: Default of a sensitive variable
  sensitive = true
}
variable "other" {
  default   = null
  sensitive = true
}
locals {
  secret = sensitive("long enough")
}
workload "chat" {
  prompt_tokens = sensitive(512) # ERROR: Sensitive value is not allowed here
  output_tokens = length(local.secret) # ERROR: Sensitive value is not allowed here
}
workload "each" {
  for_each      = [local.secret] # ERROR: Sensitive value is not allowed here
  prompt_tokens = 8
  output_tokens = 8
}
engine "embedded" "tiny" {
  env = {
    GOOD  = local.secret
    KNOWN = "${nonsensitive(local.secret != "")}"
  }
  args = [substr(local.secret, 0, 2)] # ERROR: Sensitive value cannot be hidden
}
