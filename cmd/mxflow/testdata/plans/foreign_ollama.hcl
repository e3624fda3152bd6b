# A port of ollama, as TestForeignEngines starts it.

plan "foreign" {}

include = ["foreign.hcl"]

engine "ollama" "tiny" {
  model = "tiny"
  process { command = [var.server, "serve"] }
  settings = {
    max_model_len = 1024
    max_num_seqs  = 2
    models_dir    = "${var.dir}/models"
    threads       = 1
  }
}

knob "port" {
  default = "off"
  value "off" {
    settings = { attention_backend = "off" }
    must_see { observed = { attention = "off" } }
  }
  value "on" {
    settings = { attention_backend = "on" }
    must_see { observed = { attention = "on" } }
  }
  changes = ["attention"]
}

baseline {
  engine   = engine.ollama.tiny
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
