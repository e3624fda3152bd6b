package plans

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// largePlan has n features in n/10 phases, each with two criteria.
func largePlan(n int) []byte {
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
    criterion "first" {
      rule = "chat.ttft.change <= 0.05"
    }
  }
`, i, i, i, i%20, parent)
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
