package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// TestHonest applies plans whose candidates do their work, and asks that nothing takes
// one for a cheat: MXFLOW_TEST_HONEST is how many launches there are at least. It
// takes turns at the ports of the embedded engine, the honest modes of the server of
// cheats, and what .ci/foreign installs. MXFLOW_TEST_HONEST_PORTS takes only those
// whose name holds one of these words, with commas.
func TestHonest(t *testing.T) {
	want, err := strconv.Atoi(os.Getenv("MXFLOW_TEST_HONEST"))
	switch {
	case os.Getenv("MXFLOW_TEST_HONEST") == "":
		t.Skip("takes minutes: set MXFLOW_TEST_HONEST to a number of launches")
	case err != nil || want < 1:
		t.Fatal("MXFLOW_TEST_HONEST is no number of launches")
	}
	ports := honestPorts(t)
	if len(ports) == 0 {
		t.Fatal("MXFLOW_TEST_HONEST_PORTS takes none of the ports")
	}
	launches, applies, disturbed := 0, 0, 0
	for i := 0; launches < want; i++ {
		p := ports[i%len(ports)]
		got := p.apply(t)
		if got.launches == 0 {
			t.Fatalf("%s measured nothing", p.name)
		}
		launches, applies, disturbed = launches+got.launches, applies+1, disturbed+got.disturbed
		t.Logf("%4d launches: %s ended in %s, notes %v", launches, p.name, got.verdict, got.notes)
	}
	t.Logf("%d launches in %d applies of %d honest ports, %d launches disturbed by the machine", launches, applies, len(ports), disturbed)
}

// honestPort is a candidate that does its work.
type honestPort struct {
	name, plan string
	vars       []string
}

func honestPorts(t *testing.T) (taken []honestPort) {
	var ports []honestPort
	add := func(name, plan string, vars ...string) {
		ports = append(ports, honestPort{name, "testdata/plans/" + plan + ".hcl", vars})
	}
	for _, p := range []string{"nothing", "cache", "experts", "head", "speculation", "threads", "prefixes", "reasoning"} {
		add("embedded "+p, "honest", "port="+p)
	}
	server := cheatServer(t)
	for _, mode := range []string{"faster", "slower", "diverges", "drafts"} {
		add("imitation "+mode, "cheat", "server="+server, "mode="+mode)
	}
	if llama, model := os.Getenv("MXFLOW_TEST_LLAMA_SERVER"), os.Getenv("MXFLOW_TEST_GGUF"); llama != "" && model != "" {
		for _, p := range []string{"nothing", "attention", "cache", "cache4", "speculation", "batches", "threads"} {
			add("llama-server "+p, "honest_llama", "server="+llama, "model="+model, "port="+p)
		}
		if other := os.Getenv("MXFLOW_TEST_GGUF_COARSE"); other != "" {
			add("llama-server weights", "honest_llama", "server="+llama, "model="+model, "other="+other, "port=weights")
		}
	}
	words := strings.Split(os.Getenv("MXFLOW_TEST_HONEST_PORTS"), ",")
	for _, p := range ports {
		for _, word := range words {
			if strings.Contains(p.name, word) {
				taken = append(taken, p)
				break
			}
		}
	}
	return taken
}

// honestEnd is how an apply of an honest port ended.
type honestEnd struct {
	launches, disturbed int
	verdict             verdict.Verdict
	notes               map[code.Code]int
}

// apply measures a port, and fails the test where anything is held against it.
func (p honestPort) apply(t *testing.T) (end honestEnd) {
	state, err := os.MkdirTemp(t.TempDir(), "state")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(state) // there are many
	plan, err := filepath.Abs(p.plan)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"apply", "--state", state}
	for _, v := range p.vars {
		args = append(args, "--var", v)
	}
	out, err := exec.Command(program, append(args, plan)...).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	kept, err := store.OpenReadOnly(state)
	if err != nil {
		t.Fatalf("%s: %v\n%s", p.name, err, out)
	}
	defer kept.Close()
	for _, l := range kept.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark}) {
		end.launches++
		switch {
		case !l.OK:
			t.Errorf("%s: launch %s broke: %s\n%s", p.name, l.ID, tell.Line(l.Error), out)
		case l.Disturbed:
			end.disturbed++
		case len(l.Invalid) > 0:
			t.Errorf("%s: launch %s does not count: %q", p.name, l.ID, tell.Lines(l.Invalid))
		}
	}
	d, _, ok := kept.Latest("feature.port")
	if !ok {
		t.Fatalf("%s was not decided\n%s", p.name, out)
	}
	end.verdict, end.notes = d.Verdict, map[code.Code]int{}
	b, _, _ := kept.Latest("feature.port.benchmark")
	for _, level := range b.Levels {
		countFacts(end.notes, level.Reasons)
		// Launches that do not count are held against the port above, by themselves.
		if level.Verdict != verdict.Pass && !verdict.Holds(level.Reasons, code.LaunchLost) {
			t.Errorf("%s: %s is %s: %q\n%s", p.name, level.Name, level.Verdict, tell.Lines(level.Reasons), out)
		}
	}
	return end
}

// countFacts counts reasons about work and answers, and what they follow from.
func countFacts(n map[code.Code]int, reasons []verdict.Reason) {
	for _, r := range reasons {
		if family, _, _ := strings.Cut(string(r.Code), "."); family == "work" || family == "answers" {
			n[r.Code]++
		}
		countFacts(n, r.Causes)
	}
}
