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
      trace = ["*gemv*", "*fallback*"]
    }
    must_not_see {
      trace = ["*Fallback*"]
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
    }
    must_not_see {
      log = ["*b*"]
    }
    settings = "fast" # ERROR: Wrong type for settings
  }
  value "a" {
    must_see {
      log = ["*a*", "**"] # ERROR: Glob matches everything
    }
  }
  value "b" {
    must_see {
      log = ["a\nb"] # ERROR: Glob of several lines
    }
  }
  value "c" {
    must_see {
      log = [".*gemv.*"] # ERROR: Glob is a regular expression
    }
  }
  value "d" {
    must_see {
      log = ["^using kernel"] # ERROR: Glob is a regular expression
    }
  }
  value "e" {
    must_see {
      log = ["took \\d+ ms"] # ERROR: Glob is a regular expression
    }
  }
  value "f" {
    must_see {
      log = ["*[engine-core]* model.layers.*", "a.b", "cost $5, 3.5+"]
    }
  }
}
