plan "p" {}

engine "command" "bench" {
  process {
    command = ["sh", "bench.sh"]
  }
  metric "tg" {
    jq     = ".tg"
    unit   = "tok/s"
    better = "higher"
  }
}

knob "kernel" {
  default = "old"
  value "old" { env = { SPEED = "100" } }
  value "new" { env = { SPEED = "120" } }
}

protocol "script" {
  level "benchmark" {}
}

baseline {
  engine   = engine.command.bench
  protocol = protocol.script
}

phase "one" {
  feature "f" {
    set = { kernel = "new" }
    criterion "speed" { rule = "command.tg.gain > 0.1" }
  }
}
