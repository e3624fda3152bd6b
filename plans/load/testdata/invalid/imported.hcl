plan "p" {}

engine "embedded" "tiny" {}

knob "moe" {
  default = "all"
  value "all" {
    must_see {
      log = ["*all experts*"]
    }
  }
  value "routed" {
    must_see {
      log = ["*routed experts*"]
    }
  }
}

workload "chat" {
  prompt_tokens = 512
  output_tokens = 32
}

protocol "standard" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}

imported "nameless" { # ERROR: Missing file
}

imported "absent" {
  file = "no_such.json" # ERROR: Unusable result file
}

imported "folder" {
  file = "../invalid" # ERROR: Unusable result file
}

imported "damaged" {
  file = "imported_negative.json" # ERROR: Unusable result file
}

imported "other" {
  file = "workload_rows.jsonl" # ERROR: Unusable result file
}

imported "serving" {
  file = "../serving.json"
}

imported "serving" { # ERROR: Duplicate imported
  file = "../serving.json"
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "port" {
  feature "routed" {
    set = { moe = "routed" }
    criterion "block" {
      rule = "chat.tg > imported.servin.r2_c8.output_throughput" # ERROR: Unknown imported
    }
    criterion "short" {
      rule = "chat.tg > imported.serving.r2_c8" # ERROR: Incomplete address
    }
    criterion "cell" {
      rule = "chat.tg > imported.serving.r2_c9.output_throughput" # ERROR: Unknown number
    }
    criterion "metric" {
      rule = "chat.tg > imported.serving.r2_c8.output_throughputs" # ERROR: Unknown number
    }
    criterion "statistic" {
      rule = "chat.ttft < imported.serving.r2_c8.ttft_ms.p95" # ERROR: Unknown number
    }
    criterion "which" {
      rule = "chat.ttft < imported.serving.r2_c8.ttft_ms" # ERROR: Incomplete address
    }
    criterion "unit" {
      rule = "chat.tg > imported.serving.r2_c8.ttft_ms.mean" # ERROR: Units do not match
    }
    criterion "fixed" {
      rule = "imported.serving.r2_c8.ttft_ms.mean < 200" # ERROR: Comparison reads nothing
    }
  }
}
