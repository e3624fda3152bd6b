# A port of llama-server, as TestForeignEngines starts it.

plan "foreign" {}

include = ["foreign.hcl"]

engine "llamacpp" "tiny" {
  model = var.model
  process { command = [var.server, "-m", var.model, "--port", "{port}"] }
  settings = {
    threads        = 1
    max_model_len  = 1024
    max_num_seqs   = 2
    enable_metrics = true
    speculative    = { method = "ngram-simple", num_speculative_tokens = 8 }
  }
  args = ["--spec-ngram-simple-size-n", "2", "--spec-ngram-simple-size-m", "8"]
}

knob "port" {
  default = "off"
  value "off" {
    settings = { attention_backend = "off" }
    must_see { log = ["*flash_attn*= disabled*"] }
  }
  value "on" {
    settings = { attention_backend = "on" }
    must_see { log = ["*flash_attn*= enabled*"] }
  }
  changes = ["attention"]
}

baseline {
  engine   = engine.llamacpp.tiny
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
