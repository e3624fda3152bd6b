# A benchmark that is a script: mxflow runs it once per launch, takes its metrics
# from the JSON that it prints, and decides rules on them. This one counts the
# divisions needed to find primes, which takes only a shell; yours would be
# command = ["uv", "run", "python", "bench.py", "--suite", "full"].
#
#   mxflow apply examples/command/plan.hcl
#
# exit status: 0

plan "command" {
  summary = "Stop dividing at the square root"
}

engine "command" "primes" {
  process {
    command = ["sh", "primes.sh"]
  }

  # After this the script counts as hung.
  run {
    timeout = "2m"
  }

  # The script prints one object; each trial in it is one value of the launch.
  metric "divisions" {
    jq     = ".trials[].divisions"
    unit   = "count"
    better = "lower"
  }

  metric "primes" {
    jq     = ".trials[].primes"
    unit   = "count"
    better = "neither"
  }
}

# The script reports on standard error what it does: that is the log, and the evidence.
knob "bound" {
  default = "all"

  value "all" {
    env = { BOUND = "all" }
    must_see {
      log = ["*dividing by every number below*"]
    }
  }

  value "root" {
    env = { BOUND = "root" }
    must_see {
      log = ["*dividing up to the square root*"]
    }
    must_not_see {
      log = ["*every number below*"]
    }
  }
}

# No smoke level and no workloads: a command takes no requests, and brings its own
# work. It is qualified by one run, which must succeed and print every metric.
protocol "script" {
  level "kernels" {}
  level "benchmark" {
  }
}

baseline {
  engine   = engine.command.primes
  protocol = protocol.script
}

phase "bound" {
  feature "square_root" {
    set = { bound = "root" }

    hypothesis {
      metric  = "command.divisions"
      expect  = "-80%"
      because = "a number without a divisor up to its root has none"
    }
    criterion "work" {
      rule = "command.divisions.gain >= 0.8"
    }
    criterion "same_answer" {
      rule = "command.primes.delta == 0"
    }
  }

  gate {
    rule "the bound is the one under test" {
      rule = "levels.kernels == 'pass'"
    }
    rule "less work" {
      rule = "command.divisions.gain >= 0.8"
    }
  }
}
