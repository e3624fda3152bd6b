package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// TestCheats applies a plan whose candidate lies about its work in every way that
// docs/trust.md has a row for, beside an honest parent, and candidates that do not
// lie. The default is a few of them; MXFLOW_TEST_LONG=1 tries all.
func TestCheats(t *testing.T) {
	t.Parallel()
	all := inFull()
	for _, c := range cheats {
		if !all && !c.quick {
			continue
		}
		plan := "cheat.hcl"
		if c.tokenizer {
			plan = "cheat_tokenizer.hcl"
		}
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			vars := append([]string{
				"mode=" + cmp.Or(c.mode, "honest"), "parent=" + cmp.Or(c.parent, "honest"), "folder=" + t.TempDir(),
			}, c.vars...)
			if !all {
				vars = append(vars, "requests=8")
			}
			if c.rule != "" {
				vars = append(vars, "rule="+c.rule)
			}
			if c.see != "" {
				vars = append(vars, "see="+c.see)
			}
			env := os.Environ()
			if c.gpu {
				config, more := onGPU(t)
				vars, env = append(vars, "config="+config), append(env, more...)
			}
			argv := append(slices.Clone(c.under), scenario.Program, "apply", "--state", state, "testdata/plans/"+plan)
			for _, v := range vars {
				argv = append(argv, "--var", v)
			}
			apply := exec.Command(argv[0], argv[1:]...)
			apply.Env = env
			out, err := apply.CombinedOutput()
			if apply.ProcessState == nil {
				t.Fatal(err)
			}
			got := outcomeOf(t, state, "feature.port")
			if got == nil || !c.may(got.Verdict) {
				t.Errorf("want %s\n%s", c.want, out)
				return
			}
			t.Log(got.Verdict, verdict.Lines(got.Why()))
			if c.why != "" && !verdict.Holds(got.Why(), c.why) &&
				!slices.ContainsFunc(got.Levels, func(l ledger.Level) bool { return verdict.Holds(l.Reasons, c.why) }) {
				t.Errorf("it is not %s\n%s", c.why, out)
			}
		})
	}
}

// cheat is a lie of the embedded engine and what must come of it.
type cheat struct {
	mode, parent, rule, see string
	// want is empty for what is not counted: anything but a pass; or, if honest is set, for
	// what may lack proof, but is not accused: a pass or inconclusive.
	want   verdict.Verdict
	honest bool
	why    code.Kind
	quick  bool
	// gpu has the server seem to be on an H200, with a model of 18 billion parameters.
	gpu bool
	// tokenizer has the parent count again.
	tokenizer bool
	// vars are more of the plan's variables, under a command that starts mxflow.
	vars, under []string
}

func (c cheat) may(got verdict.Verdict) bool {
	switch {
	case c.want != "":
		return got == c.want
	case c.honest:
		return got == verdict.Pass || got == verdict.Inconclusive
	}
	return got != verdict.Pass
}

func (c cheat) name() string {
	name := cmp.Or(c.mode, "honest")
	if c.gpu {
		name += "_gpu"
	}
	if c.tokenizer {
		name += "_tokenizer"
	}
	if c.parent != "" {
		name += "_beside_" + c.parent
	}
	for _, v := range c.vars {
		name += "_" + strings.NewReplacer("=", "_", ".", "_").Replace(v)
	}
	if c.under != nil {
		name += "_under_" + c.under[0]
	}
	return name
}

// onGPU is the config of that model, and the environment in which an nvidia-smi of ours
// shows a GPU that computes.
func onGPU(t *testing.T) (config string, env []string) {
	t.Helper()
	const gpu = "../../engine/machine/testdata/"
	dir := folder(t, map[string]string{
		"nvidia-smi": must.Read(t, gpu+"nvidia-smi"),
		"gpus":       strings.Replace(must.Read(t, gpu+"h200/gpus"), "143771, 0, 0, 85.97", "143771, 0, 98, 85.97", 1),
		"config.json": `{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 80, "num_attention_heads": 32,
			"num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}`,
	})
	must.Do(t, os.Chmod(filepath.Join(dir, "nvidia-smi"), 0o755))
	path := "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
	return filepath.Join(dir, "config.json"), []string{path, "FAKE_GPU=" + dir, "MXFLOW_GPU_LOCK_DIR=" + dir}
}

var (
	ttft   = "chat.ttft.gain > 0.05"
	memory = "engine.memory_gb.gain > 0.2"
	// within asks for more requests within limits.
	within = "chat.slo_attainment.delta > 0.5"
	answer = "chat.ttft_answer.gain > 0.2"
	chat   = []string{"api=chat"}
	talk   = []string{"api=chat", "turns=2"}
	hot    = []string{"temperature=0.8"}
	long   = []string{"tokens=96"}
	// Answers whose length is not enforced, behind a system prompt, within limits, and many.
	free   = []string{"ignore_eos=false"}
	system = []string{"api=chat", "system=48"}
	good   = []string{"good=6ms"}
	many   = []string{"requests=32"}
)

var cheats = []cheat{
	{mode: "faster", want: verdict.Pass},
	{mode: "slower", want: verdict.Fail},
	{mode: "trades", want: verdict.Pass},
	{mode: "diverges", want: verdict.Pass, quick: true},
	{mode: "drafts", want: verdict.Pass},
	{mode: "same", rule: "chat.tg.gain > -0.05", want: verdict.Pass},
	{mode: "opens_otherwise", parent: "opens", honest: true},
	{mode: "coarse_half", honest: true},
	{mode: "faster", vars: chat, want: verdict.Pass},
	{mode: "faster", vars: talk, want: verdict.Pass},
	{mode: "faster", vars: hot, honest: true},
	{mode: "diverges", vars: chat, honest: true},
	{mode: "opens_otherwise", parent: "opens", vars: chat, honest: true},
	{mode: "prompt_claimed", rule: "chat.pp.gain > 0", want: verdict.Invalid, why: code.LengthCounted.Kind},
	{mode: "prompt_doubled", rule: "chat.pp.gain > 0", want: verdict.Invalid, why: "work.prompt_text"},
	{mode: "split", want: verdict.Invalid, why: "work.answer_text"},
	{mode: "tail_unsent", want: verdict.Invalid, why: "work.answer_text"},
	{mode: "counted_early", tokenizer: true, rule: ttft, want: verdict.Fail},
	{mode: "last_unsent", tokenizer: true, want: verdict.Invalid, why: "work.answer_count"},
	{mode: "diverges", tokenizer: true, want: verdict.Pass},
	{mode: "slower", tokenizer: true, want: verdict.Fail},
	{mode: "knows_prose", rule: ttft},
	{mode: "canned"},
	{mode: "other_model", quick: true},
	{mode: "other_model", vars: chat},
	{mode: "accents_apart", parent: "accents", want: verdict.Pass},
	{mode: "helped", parent: "helps", want: verdict.Invalid, why: code.OtherAnswers.Kind},
	{mode: "helped", parent: "looks_up", want: verdict.Inconclusive, why: code.LookedUp.Kind},
	{mode: "faster", parent: "looks_up", want: verdict.Pass},
	{mode: "skips_layers"},
	{mode: "skips_layers", parent: "noisy"},
	{mode: "same", parent: "noisy", rule: "chat.tg.gain > -0.05", honest: true},
	{mode: "begins_right"},
	{mode: "last_30"},
	{mode: "last_45"},
	{mode: "last_45", vars: chat},
	{mode: "every_second"},
	{mode: "line_breaks"},
	{mode: "no_breaks"},
	{mode: "unspaced"},
	{mode: "opening_canned"},
	{mode: "pairs", want: verdict.Pass},
	{mode: "pairs_guessed"},
	{mode: "pairs_guessed", vars: chat},
	{mode: "spaces_before", want: verdict.Pass},
	{mode: "spaces_moved"},
	{mode: "spaces_moved", vars: chat},
	{mode: "reasons", want: verdict.Pass},
	{mode: "some_reasoned"},
	{mode: "some_reasoned", vars: chat},
	{mode: "some_30", vars: chat},
	{mode: "first_unspaced", want: verdict.Pass},
	{mode: "first_unspaced", vars: chat, want: verdict.Pass},
	{mode: "other_model", vars: hot},
	{mode: "later_turns", vars: talk},
	{mode: "recites", vars: long},
	{mode: "counts_up", vars: long},
	{mode: "reads_end", rule: ttft},
	{mode: "first_drafted", rule: ttft},
	{mode: "early_first", rule: ttft},
	{mode: "early_space", rule: ttft},
	{mode: "early_zero", rule: ttft},
	{mode: "early_text", rule: ttft, want: verdict.Inconclusive, why: "finding.promise_broken"},
	{mode: "early_choice", rule: ttft},
	{mode: "held_back", want: verdict.Inconclusive, why: "finding.promise_broken"},
	{mode: "loads_late", parent: "loads", rule: "engine.startup_s.gain > 0.3", want: verdict.Fail},
	{mode: "parks", parent: "holds", rule: memory},
	// Whether the machine shows it hangs on what else runs there.
	{mode: "", parent: "holds", rule: memory, honest: true},
	{mode: "last_late", rule: "chat.itl.gain > 0"},
	{mode: "too_fast", vars: long, want: verdict.Invalid, why: code.TooFast.Kind},
	{mode: "beyond", want: verdict.Invalid, why: code.DecodeBeyond.Kind, gpu: true},
	{mode: "slower", want: verdict.Fail, gpu: true},
	{mode: "drafts", want: verdict.Pass, gpu: true},
	{mode: "cached_beyond", want: verdict.Invalid},
	{mode: "bursts", want: verdict.Inconclusive}, // an answer in one piece has no speed
	{mode: "one_token"},
	{mode: "empty", want: verdict.Invalid},
	{mode: "hidden", want: verdict.Invalid},
	{mode: "dies", want: verdict.Fail},
	{mode: "some_answers"},
	{mode: "later_launches"},
	{mode: "forced_accepted", want: verdict.Invalid, why: "work.forced_logged"},
	// On a busy machine that they come to a fail takes more launches than there are.
	{mode: "hinders", rule: "chat.tg.gain > 0.05"},
	{mode: "", parent: "hindered", rule: "chat.tg.gain > 0.05"},
	{mode: "kills_guard", rule: "chat.tg.gain > 0.05", want: verdict.Error, why: code.Unstopped.Kind},
	{mode: "faster", want: verdict.Pass, under: []string{"taskset", "-c", "0", "nice", "-n", "5"}},
	{mode: "requested_only", see: "*moe backend*CUTLASS*", rule: "chat.tg.gain > -0.5", want: verdict.Invalid},
	{
		mode: "named_once", see: "*moe backend*CUTLASS*", rule: "chat.tg.gain > -0.5", want: verdict.Invalid,
		why: code.NotSeen.Kind,
	},
	{mode: "really", see: "*moe backend*CUTLASS*", want: verdict.Pass},

	{mode: "one_short", want: verdict.Pass},
	{mode: "three_short", want: verdict.Invalid, why: "work.unequal"},
	{mode: "half_white", want: verdict.Invalid, why: "work.answer_text"},
	{mode: "at_once"}, // answers in one piece have no speed
	{mode: "opens_early", parent: "opens", rule: "chat.ttft.gain > 0.05", want: verdict.Inconclusive},
	{mode: "opens_faster", parent: "opens", rule: "chat.ttft.gain > 0.05", want: verdict.Pass},

	// Rules on what is neither a median nor a part of the answer's time.
	{mode: "held_back", rule: "chat.itl.p90.gain > 0.05", vars: []string{"tokens=64"}},
	{mode: "held_unevenly"},
	{mode: "opens_early", parent: "opens", rule: within, vars: good, want: verdict.Inconclusive},
	{mode: "opens_faster", parent: "opens", rule: within, vars: good, honest: true},
	{mode: "ends_early", rule: "chat.e2e.gain > 0.2", vars: free, want: verdict.Inconclusive, why: "finding.shorter"},
	{mode: "faster", rule: "chat.e2e.gain > 0.05", vars: free, want: verdict.Pass},
	{
		mode: "same", parent: "reasons_first", rule: answer, vars: chat, want: verdict.Inconclusive,
		why: "finding.promise_broken",
	},
	{mode: "drops_slow", parent: "stutters", rule: "chat.e2e.max.gain > 0.2", vars: many},
	{mode: "stalls_unsaid", parent: "stalls_some", rule: "chat.itl.p99.gain > 0.2", vars: many},
	{mode: "stalls_hidden", parent: "stalls", rule: "chat.itl.p99.gain > 0.2"},
	{mode: "loads_later", parent: "loads", rule: "engine.startup_s.gain > 0.3"},
	{mode: "prompt_doubled", rule: ttft, vars: system, want: verdict.Invalid, why: "work.prompt_text"},
	{mode: "faster", vars: system, want: verdict.Pass},
	{mode: "greedy", vars: hot, want: verdict.Inconclusive, why: code.SamplesLess.Kind},
	{mode: "opening_short"},
	// Honest answers in other streams.
	{mode: "trailing_spaces", want: verdict.Pass},
	{mode: "held_bytes", parent: "accents", want: verdict.Pass},
	{mode: "uncounted", want: verdict.Pass},
	{mode: "comments", vars: chat, want: verdict.Pass},
}

func init() {
	// Only root's engine can open mxflow's memory: others are as honest as they say.
	pries := cheat{mode: "pries", want: verdict.Invalid, why: "launch.memory_opened"}
	if os.Geteuid() != 0 {
		pries = cheat{mode: "pries", honest: true}
	}
	cheats = append(cheats, pries)
	// What an engine remembers from one launch to the next is never asked again.
	for _, parent := range []string{"", "remembering"} {
		cheats = append(cheats, cheat{mode: "remembers", parent: parent, rule: "chat.tg.gain > 0.05"})
	}
}

// TestTrustNamesLies: docs/trust.md has each lie, and each parent beside which one is told.
func TestTrustNamesLies(t *testing.T) {
	page := must.Read(t, "../../docs/trust.md")
	for _, c := range cheats {
		for _, mode := range []string{c.mode, c.parent} {
			if mode != "" && !strings.Contains(page, "`"+mode+"`") {
				t.Errorf("docs/trust.md does not name %s", mode)
			}
		}
	}
}

// outcomeOf is the newest decision of a node in a state folder; nil where there is
// none.
func outcomeOf(t *testing.T, state, node string) *ledger.Decision {
	t.Helper()
	kept, err := store.OpenReadOnly(state)
	must.Do(t, err)
	defer kept.Close()
	history := kept.History(node)
	if len(history) == 0 {
		return nil
	}
	return history[len(history)-1].Decision
}

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
	for _, p := range []string{"nothing", "cache", "experts", "format", "speculation", "threads", "prefixes"} {
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
	verdicts           map[verdict.Verdict]int
}

func (e *honestEnd) add(o honestEnd) {
	e.applies, e.launches = e.applies+o.applies, e.launches+o.launches
	e.disturbed, e.accused = e.disturbed+o.disturbed, e.accused+o.accused
	if e.verdicts == nil {
		e.verdicts = map[verdict.Verdict]int{}
	}
	for v, n := range o.verdicts {
		e.verdicts[v] += n
	}
}

func (e honestEnd) String() string {
	return fmt.Sprintf("%d launches in %d applies, %d disturbed, %d accused; %v", e.launches, e.applies, e.disturbed,
		e.accused, e.verdicts)
}

// apply measures a port, and fails the test where anything is held against it.
func (p honestPort) apply(t *testing.T) honestEnd {
	state := t.TempDir()
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
	end := honestEnd{applies: 1, verdicts: map[verdict.Verdict]int{d.Verdict: 1}}
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
		case len(l.Invalid) > 0:
			accuse("launch %s does not count: %q", l.ID, verdict.Lines(l.Invalid))
		}
	}
	if end.launches == 0 {
		accuse("nothing was measured")
	}
	b, _, _ := kept.Latest("feature.port.benchmark")
	for _, level := range b.Levels {
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
