/* What expressions can do. */
plan "expressions" {
  summary = "${upper("p")}orts of ${join(", ", local.sorted)}; ${length(var.sizes)} sizes"
}

variable "sizes" {
  type    = list(number)
  default = [128, 512]
}

variable "limits" {
  type    = map(number)
  default = { gain = 0.1 }
}

variable "anything" {
  default = null
}

locals {
  names  = { b = "two", a = "one" }
  sorted = [for k, v in local.names : "${k}=${v}" if v != ""]
  twice  = [for s in var.sizes : s * 2]
  text   = <<-EOT
    Lines with "quotes", a bracket ( and a brace {
    %{ if var.limits.gain > 0 }and a gain%{ endif }
  EOT
  protocols = { quick = protocol.quick }
}


engine "embedded" "tiny" {
  model = trimspace(local.text)
  env   = { SUM = "${var.sizes[0] + var.sizes[1]}", UNSET = "${var.anything == null}" }
  args  = concat(["--sizes"], [for s in local.twice : tostring(s)])
}

knob "cache" {
  default = "off"
  value "off" {}
  value "64x128-eagle3" {
    settings = { kv_cache = !false }
  }
}

workload "c16" {
  prompt_tokens = var.sizes
  output_tokens = [max(8, 16)]
}

protocol "quick" { # WARNING: Nothing is qualified
  level "benchmark" {
    workloads = [for w in [workload.c16] : w]
    launches  = null
  }
}

baseline {
  engine   = engine["embedded"].tiny
  protocol = local.protocols["quick"]
  set      = { cache = "64x128-eagle3" }
}

phase "first" {
  feature "uncached" {
    set = { "cache" = "off" }
    criterion "slower" {
      rule = "c16.p128.o16.tg.gain <= -${var.limits.gain}" # WARNING: Passes only when worse
    }
  }
}

phase "second" {
  after = [for p in [phase.first] : p]
  gate {
    rule "first port is decided" {
      rule = <<EOT
        feature["uncached"].decided
      EOT
    }
  }
}
