# Ports of transformers' server that do their work.

plan "honest_transformers" {}

include = ["honest_foreign.hcl"]

locals {
  ports = {
    attention = { on = ["--attn-implementation", "eager"] }
    format    = { on = ["--dtype", "bfloat16"] }
    # Without limits it takes nine tenths of the memory for its cache.
    batching = { on = ["--continuous-batching", "--cb-num-blocks", "64", "--cb-max-batch-tokens", "256"] }
    compiled = { on = ["--compile"] }
  }
}

engine "transformers" "small" {
  model = "${var.models}/small"
  process { command = [var.server, "serve", "{model}", "--port", "{port}"] }
  env = {
    HF_HUB_OFFLINE  = "1"
    OMP_NUM_THREADS = "1"
  }
  settings = {
    device = "cpu"
    dtype  = "float32"
  }
}

knob "port" {
  default = "off"
  value "off" {}
  value "on" {
    args = local.ports[var.port].on
  }
  changes = ["attention"]
}

baseline {
  engine   = engine.transformers.small
  protocol = protocol.standard
}
