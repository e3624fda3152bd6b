package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/agreement"
)

// TestHonest applies plans whose candidates do their work, and asks that nothing takes
// one for a cheat: MXFLOW_TEST_HONEST is how many launches there are at least. It
// takes turns at the ports of the embedded engine, the honest modes of the suite of
// cheats, and of the engines that scripts/foreign installs. MXFLOW_TEST_HONEST_PORTS takes
// only those whose name holds one of these words, with commas.
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
	byPort, all := make([]honestEnd, len(ports)), honestEnd{}
	for i := 0; all.launches < want; i++ {
		p := ports[i%len(ports)]
		got := p.apply(t)
		if got.launches == 0 {
			t.FailNow() // it would never come to an end
		}
		byPort[i%len(ports)].add(got)
		all.add(got)
		t.Logf("%4d launches: %s: %s", all.launches, p.name, got)
	}
	for i, p := range ports {
		t.Logf("%s: %s", p.name, byPort[i])
	}
	t.Logf("all: %s", all)
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
	for _, p := range []string{"nothing", "cache", "experts", "head", "speculation", "threads", "prefixes"} {
		add("embedded "+p, "honest", "port="+p)
	}
	for _, mode := range []string{"same", "faster", "slower", "diverges", "drafts", "coarse_half"} {
		add("imitation "+mode, "cheat", "mode="+mode)
	}
	if models := os.Getenv("MXFLOW_TEST_MODELS"); models != "" {
		for _, f := range foreignEngines() {
			if f.program == "" {
				continue
			}
			for _, p := range f.honest {
				add(f.part+" "+p, "honest_"+f.kind, "server="+f.program, "models="+models, "port="+p)
			}
		}
	}
	words := strings.Split(os.Getenv("MXFLOW_TEST_HONEST_PORTS"), ",")
	for _, p := range ports {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(p.name, word) }) {
			taken = append(taken, p)
		}
	}
	return taken
}

// honestEnd is how applies of an honest port ended.
type honestEnd struct {
	applies, launches int
	// disturbed are launches that do not count for a cause in the machine, accused
	// what was held against the port.
	disturbed, accused int
	// own and other are how often the parent said the same at positions of its own answers
	// and of the port's.
	own, other stats.Share
	verdicts   map[verdict.Verdict]int
	notes      map[code.Kind]int
}

func (e *honestEnd) add(o honestEnd) {
	e.applies, e.launches = e.applies+o.applies, e.launches+o.launches
	e.disturbed, e.accused = e.disturbed+o.disturbed, e.accused+o.accused
	e.own.Yes, e.own.Of = e.own.Yes+o.own.Yes, e.own.Of+o.own.Of
	e.other.Yes, e.other.Of = e.other.Yes+o.other.Yes, e.other.Of+o.other.Of
	if e.verdicts == nil {
		e.verdicts, e.notes = map[verdict.Verdict]int{}, map[code.Kind]int{}
	}
	for v, n := range o.verdicts {
		e.verdicts[v] += n
	}
	for c, n := range o.notes {
		e.notes[c] += n
	}
}

func (e honestEnd) String() string {
	said := fmt.Sprintf("%d launches in %d applies, %d disturbed, %d accused; %v", e.launches, e.applies, e.disturbed, e.accused, e.verdicts)
	said += fmt.Sprintf("; the parent says the same at %d of %d positions of its own answers, %d of %d of the port's", e.own.Yes, e.own.Of, e.other.Yes, e.other.Of)
	for _, c := range slices.Sorted(maps.Keys(e.notes)) {
		said += fmt.Sprintf("; %s %d", c, e.notes[c])
	}
	return said
}

// apply measures a port, and fails the test where anything is held against it.
func (p honestPort) apply(t *testing.T) honestEnd {
	state, err := os.MkdirTemp(t.TempDir(), "state")
	try.OK(t, err)
	defer os.RemoveAll(state) // there are many
	args := []string{"apply", "--state", state}
	for _, v := range p.vars {
		args = append(args, "--var", v)
	}
	_, out := program(t, "", nil, append(args, p.plan)...)
	kept, err := store.OpenReadOnly(state)
	if err != nil {
		t.Fatalf("%s: %v\n%s", p.name, err, out)
	}
	defer kept.Close()
	d, _, ok := kept.Latest("feature.port")
	if !ok {
		t.Fatalf("%s was not decided\n%s", p.name, out)
	}
	end := honestEnd{applies: 1, verdicts: map[verdict.Verdict]int{d.Verdict: 1}, notes: map[code.Kind]int{}}
	accuse := func(what string, args ...any) {
		end.accused++
		t.Errorf("%s: %s\n%s", p.name, fmt.Sprintf(what, args...), out)
	}
	launches := kept.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark})
	for _, l := range launches {
		end.launches++
		switch {
		case !l.OK:
			accuse("launch %s broke: %s", l.ID, l.Error.String())
		case l.Disturbed:
			end.disturbed++
			countFacts(end.notes, l.Invalid, func(code.Kind) bool { return true })
		case len(l.Invalid) > 0:
			accuse("launch %s does not count: %q", l.ID, verdict.Lines(l.Invalid))
		}
	}
	if end.launches == 0 {
		accuse("nothing was measured")
	}
	end.own, end.other = agreed(t, kept)
	b, _, _ := kept.Latest("feature.port.benchmark")
	for _, level := range b.Levels {
		countFacts(end.notes, level.Reasons, aboutWork)
		// Launches that do not count are held against the port above, by themselves.
		if level.Verdict != verdict.Pass && !verdict.Holds(level.Reasons, "session.launch_lost") {
			accuse("%s is %s: %q", level.Name, level.Verdict, verdict.Lines(level.Reasons))
		}
	}
	if verdict.Holds(d.Why(), "finding.promise_broken") || verdict.Holds(d.Why(), "finding.tail_grew") {
		accuse("%q", verdict.Lines(d.Why()))
	}
	return end
}

// agreed is how often a parent says the same at positions of its own answers, and of the
// others'.
func agreed(t *testing.T, kept *store.Store) (own, other stats.Share) {
	for _, l := range kept.Launches(store.LaunchFilter{Purpose: ledger.ForAgreement, OK: true}) {
		asked, err := agreement.Read(kept, l)
		try.OK(t, err)
		for _, look := range asked.Looks {
			of, _ := kept.LaunchByID(look.Launch)
			to := &other
			if of.Variant == l.Variant {
				to = &own
			}
			if !look.Unreached {
				to.Of++
			}
			if look.Agrees() && !look.Unreached {
				to.Yes++
			}
		}
	}
	return own, other
}

// aboutWork reports whether a reason is about work or answers.
func aboutWork(c code.Kind) bool {
	family, _, _ := strings.Cut(string(c), ".")
	return family == "work" || family == "answers"
}

// countFacts counts reasons, and what they follow from.
func countFacts(n map[code.Kind]int, reasons []verdict.Reason, which func(code.Kind) bool) {
	for _, r := range reasons {
		if which(r.Kind) {
			n[r.Kind]++
		}
		countFacts(n, r.Causes, which)
	}
}
