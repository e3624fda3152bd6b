# A server that lies beside an honest parent, which has no tokenizer to ask.

plan "cheat" {
  summary = "A number counts only if the work was done"
}

include = ["cheat_any.hcl"]

engine "openai" "imitation" {
  env = { MXFLOW_CHEAT_DIR = var.folder }

  process {
    command = [var.server, "--port", "{port}"]
  }
  metadata {
    model_config = var.config
  }
}

baseline {
  engine   = engine.openai.imitation
  protocol = protocol.standard
}
