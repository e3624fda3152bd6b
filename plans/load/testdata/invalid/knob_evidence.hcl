plan "p" {}
knob "moe" {
  default = "marlin"
  value "marlin" {
    must_see {
      trace = ["*"] # ERROR: Glob matches everything
    }
  }
  value "any" { # ERROR: Contradictory evidence
    must_see {
      lines {
        any_of = ["*gemv*", "*fallback*"]
      }
    }
    must_not_see {
      log = ["*Fallback*"]
    }
  }
  value "gemm" { # ERROR: Contradictory evidence
    must_see {
      log = ["*CUTLASS*", "*"] # ERROR: Glob matches everything
    }
    must_not_see {
      log = ["*cutlass*"]
    }
  }
  value "gemv" {
    must_see { # ERROR: Empty must_see
    }
    must_not_see {
      log = [] # ERROR: Empty log
    }
  }
  value "triton" {
    must_see {
      log = "*triton*" # ERROR: Wrong type for log
      lines {
        any_of   = ["*a*", "**"] # ERROR: Glob matches everything
        at_least = 0             # ERROR: Invalid at_least
      }
      lines {
        any_of = ["a\nb"] # ERROR: Glob of several lines
      }
      lines {
        any_of = [".*gemv.*"] # ERROR: Glob is a regular expression
      }
      lines {
        any_of = ["^using kernel"] # ERROR: Glob is a regular expression
      }
      lines {
        any_of = ["took \\d+ ms"] # ERROR: Glob is a regular expression
      }
      lines {
        any_of = ["*[engine-core]* model.layers.*", "a.b", "cost $5, 3.5+"]
      }
      lines { # ERROR: Missing any_of
        at_least = 2
      }
    }
    must_not_see {
      log = ["*b*"]
      lines { # ERROR: Unsupported block type
        any_of = ["*a*"]
      }
    }
    settings = "fast" # ERROR: Wrong type for settings
  }
}
