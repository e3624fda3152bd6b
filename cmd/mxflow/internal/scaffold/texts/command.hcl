# A plan for a benchmark that is a script rather than a server: mxflow runs it once
# per launch and takes its metrics from the JSON that it prints. Every block is
# explained in docs/language.md; examples/command has a script to it.
#
# Fill in: the command, its metrics, and the knob with what its log says.

plan "first_port" {
  summary = "Say here what the effort is for"
}

engine "command" "bench" {
  process {
    command = ["python3", "bench.py"]
  }

  # After this the script counts as hung.
  run {
    timeout = "30m"
  }

  # Of {"results": [{"tg": 31.6}, {"tg": 31.4}]}: each number is one value of a launch.
  metric "tg" {
    jq     = ".results[].tg"
    unit   = "tok/s"
    better = "higher"
  }
}

# A knob is one switch of what the script runs, with named values. Each value says
# what it sets (env or args), and which lines of the script's standard error prove
# that it took effect.
knob "kernel" {
  default = "old"

  value "old" {
    env = { KERNEL = "old" } # null would unset the variable
    must_see {
      log = ["*using the old kernel*"]
    }
  }

  value "new" {
    env = { KERNEL = "new" }
    must_see {
      log = ["*using the new kernel*"]
    }
    must_not_see {
      log = ["*using the old kernel*"]
    }
  }
}

# No smoke level and no workloads: a script takes no requests, and brings its own work.
protocol "standard" {
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    launches = 8 # of each arm, at most: it ends as soon as every rule is settled
  }
}

# What everything is compared with: every knob at its default.
baseline {
  engine   = engine.command.bench
  protocol = protocol.standard
}

# A phase holds feature ports behind one gate.
phase "first" {
  feature "new_kernel" {
    set = { kernel = "new" }

    # The claim, made before measuring.
    hypothesis {
      metric  = "command.tg"
      expect  = "+10%"
      because = "say in one sentence why it should be faster"
    }

    # What lets the port into the stack. gain is relative to the parent, in the
    # metric's better direction: 0.10 is ten per cent.
    criterion "speed" {
      rule = "command.tg.gain >= 0.10"
    }
  }

  # What has to hold before phases after this one may start.
  gate {
    rule "kernel path proven" {
      rule = "levels.kernels == 'pass'"
    }
    rule "it did not regress" {
      rule = "command.tg.gain >= -0.03"
    }
  }
}
