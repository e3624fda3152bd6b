# A command that prints its speed, whose launches cost nearly nothing: scenarios copy this
# and bench.sh, include it, and add knobs, protocol.script and phases.

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

baseline {
  engine   = engine.command.bench
  protocol = protocol.script
}
