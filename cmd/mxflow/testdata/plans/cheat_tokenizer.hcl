# The same beside a parent whose tokenizer counts again what was billed.

plan "cheat_tokenizer" {
  summary = "A number counts only if the work was done"
}

include = ["cheat_any.hcl"]

engine "embedded" "imitation" {
  env = { MXFLOW_EMBEDDED_LIE_DIR = var.folder }

  process {
    command = ["{mxflow}", "engine", "serve", "--port", "{port}"]
  }
  metadata {
    model_config = var.config
  }
}

baseline {
  engine   = engine.embedded.imitation
  protocol = protocol.standard
}
