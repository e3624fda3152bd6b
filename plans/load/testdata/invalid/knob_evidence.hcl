plan "p" {}
knob "moe" {
  default = "marlin"
  value "marlin" {
    must_see {
      trace = ["*marlin*"] # ERROR: Evidence not supported yet
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
    settings = "fast" # ERROR: Wrong type for settings
  }
}
