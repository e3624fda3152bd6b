# Blocks made by for_each and dynamic.
plan "generate" {
  summary = "ports of ${join(", ", keys(local.ports))}"
}

variable "ports" {
  type = map(object({
    value = string
    least = optional(number, 0.05)
    after = optional(list(string), [])
  }))
  default = {
    cache = { value = "on", least = 0.1 }
    moe   = { value = "routed" }
  }
  validation {
    condition     = !contains([for p in values(var.ports) : p.least > 0], false)
    error_message = "A port that need not help proves nothing."
  }
  validation {
    condition     = length(var.ports) > 0
    error_message = "Name a port."
  }
}

variable "lengths" {
  type    = list(number)
  default = [16, 64]
}

locals {
  # Before what it uses, and referring to blocks that are generated.
  sent  = concat(values(workload.chat), [workload.warm["one"]])
  ports = var.ports
  globs = { off = "off", on = "on" }
}

engine "embedded" "tiny" {
  for_each = { one = 1, two = 2 }
  settings = { threads = each.value }
}

workload "chat" {
  for_each      = { for n in var.lengths : "o${n}" => n }
  prompt_tokens = 64
  output_tokens = each.value
}

workload "warm" {
  for_each      = ["one"]
  prompt_tokens = 8
  output_tokens = 8
}

target "other" {
  for_each = ["fast", "slow"]
  name     = "llama_${each.key}"
  metrics  = { chat_o16 = { tg = each.value == "fast" ? 50 : 10 } }
}

knob "cache" { # WARNING: Evidence is never checked
  default = "off"
  dynamic "value" {
    for_each = local.globs
    labels   = [value.key]
    content {
      env = { CACHE = value.value }
      dynamic "must_see" {
        for_each = value.key == "on" ? ["cache is on"] : []
        iterator = glob
        content {
          log = [glob.value, "${glob.value}!"]
        }
      }
    }
  }
}

knob "moe" {
  default = "all"
  value "all" {}
  value "routed" {
    settings = { moe = "routed" }
  }
}

protocol "standard" { # WARNING: Nothing is qualified
  level "benchmark" {
    workloads = local.sent
  }
}

protocol "chat_only" { # WARNING: Nothing is qualified
  level "benchmark" {
    workloads = workload.chat
  }
}

baseline {
  engine   = engine.embedded.tiny["two"]
  protocol = protocol.standard
}

phase "port" {
  for_each = local.ports
  after    = [for p in each.value.after : phase.port[p]]

  feature "try" {
    set = { (each.key) = each.value.value }
    dynamic "criterion" {
      for_each = workload.chat
      labels   = ["decode_${criterion.key}"]
      content {
        rule = "${criterion.value.name}.tg.gain >= ${each.value.least}"
      }
    }
  }
  gate {
    dynamic "rule" {
      for_each = workload.chat
      labels   = ["no regression of ${rule.key}"]
      content {
        rule = "${rule.value.name}.tg.gain >= 0"
      }
    }
  }
}

phase "both" {
  after = [phase.port]

  feature "all" {
    for_each  = toset(["cache", "moe"])
    name      = "again_${each.key}"
    set       = { (each.key) = each.key == "cache" ? "on" : "routed" }
    builds_on = feature.try[each.key == "cache" ? "moe" : "cache"]
    protocol  = protocol.chat_only
    criterion "decode" {
      rule = "chat_o16.tg.gain > 0"
    }
  }

  feature "made" {
    for_each  = { x = 1 }
    priority  = each.value
    set       = { moe = "routed" }
    builds_on = feature.try.cache
    dynamic "criterion" {
      for_each = ["decode"]
      iterator = made
      labels   = [made.value]
      content {
        rule = "chat_o16.tg.gain > 0"
      }
    }
  }
}
