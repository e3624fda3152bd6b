package plans

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// guardedChild names what the child process of TestTheGuardEndsTheProcess does.
const guardedChild = "MXFLOW_TEST_GUARD"

// stuck is a function that our limits do not know, as a mistake of ours would be.
func stuck(work func()) function.Function {
	return function.New(&function.Spec{
		Type: function.StaticReturnType(cty.Bool),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			work()
			return cty.True, nil
		},
	})
}

func TestTheGuardEndsTheProcess(t *testing.T) {
	const plan = "plan \"p\" {}\nlocals {\n  fine = 1\n  endless = stuck()\n}\n"
	if mode := os.Getenv(guardedChild); mode != "" {
		var held [][]byte
		work := func() { select {} }
		if mode == "memory" {
			work = func() {
				for {
					held = append(held, make([]byte, 1<<20))
					time.Sleep(time.Microsecond)
				}
			}
		}
		pure["stuck"] = stuck(work)
		LoadBytes("plan.hcl", []byte(plan), testRegistry(), Options{Guard: &Guard{
			Time: map[string]time.Duration{"time": 200 * time.Millisecond, "memory": time.Minute}[mode], Heap: 64 << 20,
			Exceeded: func(message string) {
				fmt.Println(message)
				os.Exit(1)
			},
		}})
		fmt.Println("came back", len(held))
		os.Exit(0)
	}
	for mode, want := range map[string]string{
		"time":   "loading the plan took longer than 200ms and was stopped, while it evaluated local.endless (plan.hcl:4).",
		"memory": "loading the plan took more than 64 MB of memory and was stopped, while it evaluated local.endless (plan.hcl:4).",
	} {
		t.Run(mode, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestTheGuardEndsTheProcess$")
			child.Env = append(os.Environ(), guardedChild+"="+mode)
			out, err := child.CombinedOutput()
			if child.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), want) {
				t.Errorf("exit status %d, %v\n%s", child.ProcessState.ExitCode(), err, out)
			}
		})
	}
}

func TestTheGuardLetsPlansPass(t *testing.T) {
	src, err := os.ReadFile("testdata/valid/generate.hcl")
	if err != nil {
		t.Fatal(err)
	}
	res := LoadBytes("plan.hcl", src, testRegistry(), Options{Guard: &Guard{
		Time: time.Minute, Heap: 1 << 30, Exceeded: func(message string) { t.Error(message) },
	}})
	if !res.OK() {
		t.Error(res.text())
	}
	var p *place
	if p.String() == "" || (&place{what: "x", at: hcl.Range{}}).String() != "x" {
		t.Error("a place without a position cannot be told")
	}
}
