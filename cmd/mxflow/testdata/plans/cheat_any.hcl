# A server that lies as the candidate beside an honest parent: all but the engine's kind.

variable "mode" { type = string }

variable "parent" {
  type    = string
  default = "honest"
}

variable "folder" {
  type    = string
  default = ""
}

variable "see" {
  type    = string
  default = "*engaged mode*"
}

variable "config" {
  type    = string
  default = ""
}

# Half of them are enough for the few modes that are tried by default.
variable "requests" {
  type    = number
  default = 16
}

variable "api" {
  type    = string
  default = "completions"
}

variable "turns" {
  type    = number
  default = 1
}

variable "temperature" {
  type    = number
  default = 0
}

variable "tokens" {
  type    = number
  default = 32
}

# Whether the length of answers is enforced, the length of a system prompt, and the limit of a
# good request.
variable "ignore_eos" {
  type    = bool
  default = true
}

variable "system" {
  type    = number
  default = 0
}

variable "good" {
  type    = string
  default = "10s"
}

variable "rule" {
  type    = string
  default = "chat.tg.gain > 0"
}

knob "port" {
  default = "off"

  value "off" {
    env = { MXFLOW_EMBEDDED_LIE = var.parent }
    must_see {
      log = ["*engaged mode*"]
    }
  }

  value "on" {
    env = { MXFLOW_EMBEDDED_LIE = var.mode }
    must_see {
      log = [var.see]
    }
  }
}

workload "chat" {
  api           = var.api
  turns         = var.turns
  temperature   = var.temperature
  prompt_tokens = 64
  output_tokens = var.tokens
  requests      = var.requests
  warmup        = 2
  max_lag       = "1s"
  ignore_eos    = var.ignore_eos
  system_tokens = var.system
  slo {
    ttft = var.good
  }
}

protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
  }
}

decision {
  false_pass = 0.05
  false_fail = 0.1
  launches   = { min = 4, max = 6 }
}

phase "port" {
  feature "port" {
    set = { port = "on" }

    criterion "faster" {
      rule = var.rule
    }
  }
  gate {
    rule "faster" {
      rule = var.rule
    }
  }
}
