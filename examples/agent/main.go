// Command agent is the loop of an agent that is paid by mxflow's verdicts, without a language
// model: it proposes five ports of the plan in this folder, which a person has sealed.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
)

// proposals are what a model would write, and how often each is tried.
var proposals = []struct {
	name, env, evidence string
	tries               int
}{
	// It does less work for the same answers.
	{"honest", `MXFLOW_EMBEDDED_MOE = "routed", MXFLOW_EMBEDDED_PACE = "4ms"`, "*using kernel moe_routed*", 1},
	// It engages, and nothing is faster for it: no two prompts begin alike.
	{"useless", `MXFLOW_EMBEDDED_MOE = "all", MXFLOW_EMBEDDED_PACE = "6ms", MXFLOW_EMBEDDED_PREFIX_CACHE = "on"`, "*using kernel prefix_block_lookup*", 1},
	// A draw at each start, which is tried until it is a lucky one.
	{"lucky", `MXFLOW_EMBEDDED_MOE = "all", MXFLOW_EMBEDDED_PACE = "6ms", MXFLOW_EMBEDDED_AUTOTUNE = "on", SEED = "%d"`, "*using kernel moe_all_experts*", 3},
	// Its first answers are right, the ones that somebody looks at, and later ones are not.
	{"lying", `MXFLOW_EMBEDDED_MOE = "routed", MXFLOW_EMBEDDED_PACE = "3ms", MXFLOW_EMBEDDED_FAULT = "wrong_after:3"`, "*using kernel moe_routed*", 1},
	// As fast as the honest one, and its answers are garbage.
	{"broken", `MXFLOW_EMBEDDED_MOE = "routed", MXFLOW_EMBEDDED_PACE = "4ms", MXFLOW_EMBEDDED_FAULT = "garbage"`, "*using kernel moe_routed*", 1},
}

// end is the last line of apply --json, as far as a loop needs it. One that was refused has
// no reward, and pays nothing.
type end struct {
	Type, Message string
	Reward        struct {
		Rules string
		Ports []struct {
			Feature, Verdict, Why string
			Pays                  float64
			Try                   int
		}
	}
}

func main() {
	plan, err := os.ReadFile("plan.hcl")
	if err != nil {
		log.Fatal(err)
	}
	rules := ""
	for _, p := range proposals {
		value := "  value %q {\n    env = { %s }\n    must_see {\n      log = [%q]\n    }\n  }\n"
		feature := "  feature %q {\n    set = { port = %[1]q }\n    criterion \"decode\" {\n      rule = \"chat.tg.gain >= 0.02\"\n    }\n  }\n"
		plan = insert(plan, "  # proposed features", fmt.Sprintf(feature, p.name))
		for try := range p.tries {
			env := strings.ReplaceAll(p.env, "%d", fmt.Sprint(try))
			if err := os.WriteFile("plan.hcl", insert(plan, "  # proposed values", fmt.Sprintf(value, p.name, env, p.evidence)), 0o644); err != nil {
				log.Fatal(err)
			}
			e := apply(p.name)
			if rules == "" {
				rules = e.Reward.Rules
			}
			if e.Type != "run_done" || e.Reward.Rules != rules {
				log.Fatalf("%s is refused, or judged by other rules: %s", p.name, e.Message)
			}
			for _, port := range e.Reward.Ports {
				if port.Feature == p.name {
					fmt.Printf("%-8s try %d  %-12s pays %.3f  %s\n", p.name, port.Try, port.Verdict, port.Pays, port.Why)
				}
			}
		}
		plan, _ = os.ReadFile("plan.hcl")
	}
}

// apply is how the apply of a feature ends. Its exit status says no more than the verdict.
func apply(feature string) (e end) {
	cmd := exec.Command("mxflow", "apply", "--sealed", "--json", "--target", feature, "plan.hcl")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		log.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &e); err != nil {
		log.Fatalf("%s did not end: %v", feature, err)
	}
	return e
}

// insert puts text before a line of a plan.
func insert(plan []byte, line, text string) []byte {
	return []byte(strings.Replace(string(plan), line, text+line, 1))
}
