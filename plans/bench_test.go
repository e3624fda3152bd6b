package plans

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// largePlan has n features in n/10 phases, each with two criteria.
func largePlan(n int) []byte { return plainPlan(n, 2) }

// plainPlan has n features with so many criteria each.
func plainPlan(n, rules int) []byte {
	var b strings.Builder
	b.WriteString(`plan "large" {}
variable "gain" {
  default = 0.1
}
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
protocol "standard" {
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
`)
	for i := range 20 {
		fmt.Fprintf(&b, `knob "k%d" {
  default = "off"
  value "off" {
    must_not_see { log = ["k%d is on"] }
  }
  value "on" {
    env = { K%d = "1" }
    must_see { log = ["k%d is on"] }
  }
}
`, i, i, i, i)
	}
	for i := range n {
		if i%10 == 0 {
			if i > 0 {
				b.WriteString("}\n")
			}
			fmt.Fprintf(&b, "phase \"p%d\" {\n", i/10)
			if i > 0 {
				fmt.Fprintf(&b, "  after_decided = [phase.p%d]\n", i/10-1)
			}
		}
		parent := "accepted"
		if i%10 == 0 {
			parent = "baseline"
		}
		fmt.Fprintf(&b, `  feature "f%d" {
    summary   = "Feature number %d"
    priority  = %d
    set       = { k%d = "on" }
    builds_on = %s
    protocol  = protocol.standard
    criterion "decode" {
      rule = "chat.tg.gain >= ${var.gain}"
    }
`, i, i, i, i%20, parent)
		for r := 1; r < rules; r++ {
			fmt.Fprintf(&b, "    criterion \"c%d\" {\n      rule = \"chat.ttft.change <= 0.%d5\"\n    }\n", r, r)
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

func BenchmarkLoad1000Features(b *testing.B) {
	src := largePlan(1000)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if res := LoadBytes("large.hcl", src, testRegistry(), Options{}); !res.OK() {
			b.Fatal(res.text())
		}
	}
}

// BenchmarkLoad5000Rules is the budget of the plan language: 800 ms and 250 MB.
func BenchmarkLoad5000Rules(b *testing.B) {
	src := plainPlan(1000, 5)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if res := LoadBytes("large.hcl", src, testRegistry(), Options{}); !res.OK() {
			b.Fatal(res.text())
		}
	}
}

// BenchmarkLoadGenerated makes 1000 features of one block.
func BenchmarkLoadGenerated(b *testing.B) {
	src := []byte(generatedPlan)
	b.ReportAllocs()
	for b.Loop() {
		if res := LoadBytes("generated.hcl", src, testRegistry(), Options{}); !res.OK() {
			b.Fatal(res.text())
		}
	}
}

const generatedPlan = `plan "generated" {}
locals {
  ports = [for i in range(1000) : "p${i}"]
}
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
protocol "standard" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
knob "k" {
  default = "off"
  value "off" {}
  dynamic "value" {
    for_each = local.ports
    labels   = [value.value]
    content {
      env = { K = value.value }
    }
  }
}
phase "all" {
  feature "f" {
    for_each = local.ports
    set      = { k = each.value }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
`

func BenchmarkLoadYAML1000Features(b *testing.B) {
	src, res := ToYAML("large.hcl", largePlan(1000), testRegistry())
	if res != nil {
		b.Fatal(res.text())
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if res := LoadBytes("large.yaml", src, testRegistry(), Options{}); !res.OK() {
			b.Fatal(res.text())
		}
	}
}

func BenchmarkLoadMxfp4(b *testing.B) {
	src, err := os.ReadFile("testdata/valid/mxfp4.hcl")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		LoadBytes("plan.hcl", src, testRegistry(), Options{})
	}
}

func BenchmarkDigest1000Features(b *testing.B) {
	p := LoadBytes("large.hcl", largePlan(1000), testRegistry(), Options{}).Plan
	for b.Loop() {
		p.Digest()
	}
}
