// Command agent is the loop of an agent that is paid by mxflow's verdicts, without a language
// model: it proposes five ports of the plan in this folder, which a person has sealed.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
)

// proposals are what a model would write: a port, the switches of the engine that it sets,
// and the kernel that its log has to name. The third is tried until it is lucky.
var proposals = []struct{ name, set, kernel string }{
	{"honest", "MOE=routed PACE=4ms", "moe_routed"},                        // less work, the same answers
	{"useless", "MOE=all PACE=6ms PREFIX_CACHE=on", "prefix_block_lookup"}, // no two prompts begin alike
	{"lucky", "MOE=all PACE=6ms AUTOTUNE=on", "moe_all_experts"},           // each start is a draw: some are 5% faster
	{"lucky", "MOE=all PACE=6.01ms AUTOTUNE=on", "moe_all_experts"},
	{"lucky", "MOE=all PACE=6.02ms AUTOTUNE=on", "moe_all_experts"},
	{"lying", "MOE=routed PACE=3ms FAULT=wrong_after:3", "moe_routed"}, // right for the first requests only
	{"broken", "MOE=routed PACE=4ms FAULT=garbage", "moe_routed"},      // as fast as the honest one
}

// end is the last line of apply --json. One that was refused has no reward, and pays nothing.
type end struct {
	Type, Message string
	Reward        struct {
		Rules string
		Ports []struct {
			Feature, Verdict, Why string
			Pays                  float64
			Attempt               int
		}
	}
}

func main() {
	sealed, err := os.ReadFile("plan.hcl")
	if err != nil {
		log.Fatal(err)
	}
	rules := ""
	for i, now := range proposals {
		plan := string(sealed)
		for j, p := range proposals[:i+1] {
			if j == i || p.name != proposals[j+1].name { // the newest of its name
				plan = propose(plan, p.name, p.set, p.kernel)
			}
		}
		if err := os.WriteFile("plan.hcl", []byte(plan), 0o644); err != nil {
			log.Fatal(err)
		}
		e := apply(now.name)
		if e.Type != "run_done" || rules != "" && rules != e.Reward.Rules {
			log.Fatalf("%s: refused, or judged by other rules: %s", now.name, e.Message)
		}
		rules = e.Reward.Rules
		for _, port := range e.Reward.Ports {
			if port.Feature == now.name {
				fmt.Printf("%-8s attempt %d  %-12s pays %.3f  %s\n", now.name, port.Attempt, port.Verdict,
					port.Pays, port.Why)
			}
		}
	}
}

// propose writes a port into a plan: a value of its knob, and a feature that is judged like the
// one that is there.
func propose(plan, name, set, kernel string) string {
	value := fmt.Sprintf("  value %q {\n    must_see { log = [\"*using kernel %s*\"] }\n    env = {\n", name, kernel)
	for word := range strings.FieldsSeq(set) {
		key, is, _ := strings.Cut(word, "=")
		value += fmt.Sprintf("      MXFLOW_EMBEDDED_%s = %q\n", key, is)
	}
	feature := fmt.Sprintf("  feature %[1]q {\n    set = { port = %[1]q }\n", name) +
		"    criterion \"decode\" { rule = \"chat.tg.gain >= 0.05\" }\n  }\n"
	plan = strings.Replace(plan, "  # values", value+"    }\n  }\n  # values", 1)
	return strings.Replace(plan, "  # features", feature+"  # features", 1)
}

// apply is how the apply of a feature ends. Its exit status is about the gates.
func apply(feature string) (e end) {
	mxflow := exec.Command("mxflow", "apply", "--sealed", "--json", "--target", feature, "plan.hcl")
	mxflow.Stderr = os.Stderr
	out, _ := mxflow.Output()
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &e); err != nil {
		log.Fatalf("%s did not end: %v", feature, err)
	}
	return e
}
