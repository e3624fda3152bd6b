plan "p" {}
protocol "p" { level "smoke" { expect = "Paris" } level "kernels" {} } # ERROR: Too much on one line
