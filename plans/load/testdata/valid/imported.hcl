# Rules compare with what other tools measured.
plan "imported" {}

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
  level "smoke" {
    prompt = "?"
    expect = "!"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}

imported "serving" {
  summary = "vLLM on the same machine, by its own benchmark"
  file    = "../serving.json"
}

imported "llamacpp" {
  file = "../llama-bench.json"
}

baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}

phase "port" {
  feature "routed" {
    set = { moe = "routed" }
    criterion "faster" {
      rule = "chat.tg >= 0.9 * imported.llamacpp.tg32_d4096.ts.mean"
    }
    # There is one number, so that the statistic may be left out.
    criterion "all at once" {
      rule = "chat.tg > imported.serving.r2_c8.output_throughput"
    }
  }

  gate {
    rule "sooner" {
      rule = "chat.ttft.median <= imported.serving.r2_c8.ttft_ms.p99"
    }
  }
}
