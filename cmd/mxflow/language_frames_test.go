package main

import (
	"fmt"
	"strings"
)

// scaffolding is a plan around the block under test; a block of it gives way
// to one of the same name.
var scaffolding = []string{
	`plan "scaffold" {}`,
	`engine "embedded" "tiny" {}`,
	`knob "moe_kernel" {
  default = "marlin"
  value "marlin" {
    must_see { log = ["*Marlin*"] }
  }
  value "gemm" {
    env = { MOE = "gemm" }
    must_see { log = ["*CUTLASS*"] }
  }
}`,
	`workload "chat" {
  prompt_tokens = 2048
  output_tokens = 32
}`,
	`protocol "standard" {
  level "kernels" {}
  level "benchmark" { workloads = [workload.chat] }
}`,
	`baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}`,
}

// around holds what a block has to stand in, by path; %s is the block.
var around = map[string]string{
	"engine.process":           "engine \"openai\" \"wrapped\" {\n%s\n}",
	"engine.ready":             "engine \"embedded\" \"wrapped\" {\n%s\n}",
	"engine.run":               wrappedCommand,
	"engine.output":            wrappedCommand,
	"engine.metric":            "engine \"command\" \"wrapped\" {\nprocess {\ncommand = [\"true\"]\n}\n%s\n}",
	"engine.caches":            wrappedServer,
	"engine.compose":           wrappedServer,
	"engine.docker":            wrappedServer,
	"engine.endpoint":          wrappedServer,
	"engine.exec":              wrappedServer,
	"engine.gpu":               wrappedServer,
	"engine.metadata":          wrappedServer,
	"engine.observe":           wrappedServer,
	"engine.profile":           wrappedServer,
	"engine.source":            wrappedServer,
	"engine.tree":              wrappedServer,
	"phase.step.compare":       "engine \"embedded\" \"plain\" {}\nengine \"embedded\" \"cached\" {}\nphase \"wrapped\" {\n%s\n}",
	"engine.stop":              "engine \"embedded\" \"wrapped\" {\n%s\n}",
	"workload.dataset":         "workload \"wrapped\" {\nwarmup = 1\noutput_tokens = 8\n%s\n}",
	"workload.output_lengths":  "workload \"wrapped\" {\nprompt_tokens = 8\n%s\n}",
	"workload.prompt_lengths":  "workload \"wrapped\" {\noutput_tokens = 8\n%s\n}",
	"workload.slo":             "workload \"wrapped\" {\nprompt_tokens = 8\noutput_tokens = 8\n%s\n}",
	"variable.validation":      "variable \"model\" {\ndefault = \"small\"\n%s\n}",
	"knob.value":               "knob \"wrapped\" {\ndefault = \"other\"\nvalue \"other\" {\nmust_see { log = [\"*other*\"] }\n}\n%s\n}",
	"knob.value.source":        "engine \"vllm\" \"built\" {\nmodel = \"m\"\nsource {\nrepo = \"r\"\nref = \"main\"\n}\n}\nknob \"wrapped\" {\ndefault = \"v\"\nvalue \"v\" {\nmust_see { log = [\"*v*\"] }\n%s\n}\n}",
	"knob.value.must_see":      "knob \"wrapped\" {\ndefault = \"v\"\nvalue \"v\" {\n%s\n}\n}",
	"knob.value.must_not_see":  "knob \"wrapped\" {\ndefault = \"v\"\nvalue \"v\" {\n%s\n}\n}",
	"protocol.level":           "protocol \"wrapped\" {\n%s\n}",
	"phase.step":               "phase \"wrapped\" {\n%s\n}",
	"phase.feature":            "phase \"wrapped\" {\n%s\n}",
	"phase.gate":               "phase \"wrapped\" {\n" + wrappedFeature + "\n%s\n}",
	"phase.gate.rule":          "phase \"wrapped\" {\n" + wrappedFeature + "\ngate {\n%s\n}\n}",
	"phase.feature.hypothesis": "phase \"wrapped\" {\nfeature \"f\" {\nset = { moe_kernel = \"gemm\" }\ncriterion \"c\" { rule = \"chat.tg.gain >= 0\" }\n%s\n}\n}",
	"phase.feature.confirm":    "engine \"vllm\" \"production\" {\nmodel = \"openai/gpt-oss-120b\"\n}\nphase \"wrapped\" {\nfeature \"f\" {\nset = { moe_kernel = \"gemm\" }\ncriterion \"decode\" { rule = \"chat.tg.gain >= 0\" }\n%s\n}\n}",
	"phase.feature.criterion":  "phase \"wrapped\" {\nfeature \"f\" {\nset = { moe_kernel = \"gemm\" }\n%s\n}\n}",
}

const wrappedCommand = `engine "command" "wrapped" {
  process {
    command = ["true"]
  }
  metric "seconds" {
    jq     = ".s"
    unit   = "s"
    better = "lower"
  }
  %s
}`

// wrappedServer is an engine that every launcher can start.
const wrappedServer = `engine "vllm" "wrapped" {
  model = "openai/gpt-oss-20b"
  %s
}`

const wrappedFeature = `feature "f" {
  set = { moe_kernel = "gemm" }
  criterion "c" { rule = "chat.tg.gain >= 0" }
}`

// inPlan is a whole plan with a block where its path says.
func inPlan(path, block string) string {
	for p := path; p != ""; p = p[:max(0, strings.LastIndexByte(p, '.'))] {
		if frame := around[p]; frame != "" {
			block = fmt.Sprintf(frame, block)
			break
		}
	}
	plan := ""
	header, _, _ := strings.Cut(block, "{")
	for _, part := range scaffolding {
		if !strings.HasPrefix(part, header) && !(strings.HasPrefix(header, "plan ") && strings.HasPrefix(part, "plan ")) {
			plan += part + "\n"
		}
	}
	return plan + block + "\n"
}
