# A server that lies beside an honest parent, which has no tokenizer to ask.

plan "cheat" {
  summary = "A number counts only if the work was done"
}

include = ["cheat_any.hcl"]

engine "openai" "imitation" {
  env = { MXFLOW_EMBEDDED_LIE_DIR = var.folder }

  process {
    command = ["{mxflow}", "engine", "serve", "--port", "{port}"]
  }
  metadata {
    model_config = var.config
  }
}

baseline {
  engine   = engine.openai.imitation
  protocol = protocol.standard
}
