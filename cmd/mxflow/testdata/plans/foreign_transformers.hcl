# A port of transformers, as TestForeignEngines starts it.

plan "foreign" {}

include = ["foreign.hcl"]

engine "transformers" "tiny" {
  model = var.model
  process { command = [var.server, "serve", var.model, "--port", "{port}"] }
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
  value "off" {
    settings = { continuous_batching = false }
    must_see { log = ["*CB: False*"] }
  }
  value "on" {
    settings = { continuous_batching = true }
    # Without limits it takes nine tenths of the memory for its cache.
    args = ["--cb-num-blocks", "64", "--cb-max-batch-tokens", "256"]
    must_see { log = ["*CB: True*"] }
  }
}

baseline {
  engine   = engine.transformers.tiny
  protocol = protocol.standard
}

phase "port" {
  feature "port" {
    set = { port = "on" }
    criterion "decodes" { rule = "chat.tg.gain >= -0.99" }
  }
  gate {
    rule "proved" { rule = "levels.kernels == 'pass'" }
    rule "it decodes" { rule = "chat.tg.gain >= -0.99 and engine.crashes == 0" }
  }
}
