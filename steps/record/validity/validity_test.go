package validity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

func judgeOf(p *plans.Plan) *Checker {
	j := newChecker()
	j.Launches.Variants.Plan = p
	return j
}

// newChecker compares launches of no plan.
func newChecker() *Checker { return &Checker{Launches: &launch.Lab{Variants: &variant.Resolver{}}} }

// Whatever was measured, it does not count where a launch was disturbed, the
// arms did not do the same work, or the candidate's answers do not read as text.
func TestValid(t *testing.T) {
	kept, err := store.Open(t.TempDir())
	must.Do(t, err)
	t.Cleanup(func() { kept.Close() })
	from := 0
	answers := func(text string) []measure.Sample {
		var samples []measure.Sample
		for i := range 8 {
			samples = append(samples, measure.Sample{
				Workload: "chat", Index: from + i,
				Text: text + strings.Repeat(" again", i), Events: []measure.Event{{}},
			})
		}
		return samples
	}
	has := func(samples []measure.Sample) func(*ledger.Launch) {
		return func(l *ledger.Launch) {
			must.Do(t, kept.WriteSamples("", l, samples))
		}
	}
	sound := answers(
		"The ferry takes twelve cars across the river, or eleven and the priest, and none on a Sunday when it freezes.")
	broken := answers(strings.Repeat("nan ", 24))
	from = 8
	others := answers("The ferry takes twelve cars across the river.")
	nothing := []measure.Sample{{Workload: "chat", Index: 16}, {Workload: "chat", Index: 17}}
	short := func(missing float64) func(*ledger.Launch) {
		return func(l *ledger.Launch) {
			l.Cells = []measure.CellRun{{Cell: "chat", ExactOutput: true}}
			l.Metrics = map[string]measure.Summary{
				"chat.shortfall":     {N: 8, Stats: map[string]float64{"mean": missing}},
				"chat.output_tokens": {N: 8, Stats: map[string]float64{"mean": 32 - missing}},
			}
		}
	}
	cells := func(byEvents bool) func(*ledger.Launch) {
		return func(l *ledger.Launch) { l.Cells = []measure.CellRun{{Cell: "chat", ByEvents: byEvents}} }
	}
	garbage := func(l *ledger.Launch) {
		has(broken)(l)
		l.Incoherent = []verdict.Reason{verdict.Say("answer.garbage",
			"{subject?{subject} }request {request}{turn?, turn {turn}}: {causes} ({excerpt:q})",
			verdict.Int("request", 0)).On("chat")}
	}
	vs := []*variant.Variant{{Arm: decide.Arm{Name: "baseline", Key: "p"}}, {Arm: decide.Arm{Name: "fast", Key: "c"}}}
	for _, c := range []struct {
		name, mode        string
		parent, candidate func(*ledger.Launch)
		want              verdict.Verdict
		says              string
	}{
		{"healthy", "baseline", nil, nil, verdict.Pass, "1 launch per arm"},
		{"candidate emits garbage", "baseline", nil, garbage, verdict.Invalid, "worse than those of baseline"},
		{"both read alike", "baseline", garbage, garbage, verdict.Pass, "1 launch per arm"},
		{"parent emits garbage", "baseline", garbage, nil, verdict.Pass, "1 launch per arm"},
		{"one answer is garbage", "absolute", garbage, garbage, verdict.Invalid, "of baseline are not readable text"},
		{
			"two answers, and no text in them", "baseline", nil, has(nothing), verdict.Invalid,
			"worse than those of baseline (2 of 2)",
		},
		{"nobody looks", "off", nil, garbage, verdict.Pass, "were not checked"},
		{
			"a launch was disturbed", "off", nil, func(l *ledger.Launch) {
				l.Invalid = verdict.Because(code.FromCache)
			},
			verdict.Invalid, "cache",
		},
		{"short output on both sides", "off", short(1), short(1), verdict.Pass, "1 launch per arm"},
		{"a token less", "off", short(0), short(1), verdict.Pass, "1 launch per arm"},
		{"a token more", "off", short(0), short(-1), verdict.Pass, "1 launch per arm"},
		{
			"less work", "off", short(0), short(2), verdict.Invalid,
			"fast generated 93.75% of the requested tokens, baseline 100%",
		},
		{
			"tokens too many", "off", short(0), short(-2), verdict.Invalid,
			"fast generated 106.3% of the requested tokens, baseline 100%",
		},
		{
			"a token less, where the parent has one too many", "off", short(-1), short(1), verdict.Invalid,
			"did not do the same work",
		},
		{"many more, as the parent has", "off", short(-2), short(-3), verdict.Pass, "1 launch per arm"},
		{"only the parent counts its tokens", "off", short(0), func(l *ledger.Launch) {
			l.Cells = []measure.CellRun{{Cell: "chat", ExactOutput: true}}
		}, verdict.Invalid, "chat: baseline reports the tokens it generated in every launch, fast does not"},
		{"the candidate's answers were never kept", "baseline", nil, func(l *ledger.Launch) {
			l.Samples = ""
		}, verdict.Invalid, "no answers of fast to chat are recorded"},
		{
			"only the parent's engine counts its tokens", "off", cells(false), cells(true), verdict.Invalid,
			"tokens of baseline were counted by the engine, some of fast as stream events",
		},
		{
			"only the candidate's engine counts its tokens", "off", cells(true), cells(false), verdict.Invalid,
			"tokens of fast were counted by the engine, some of baseline as stream events",
		},
		{"nobody's engine counts tokens", "off", cells(true), cells(true), verdict.Pass, "1 launch per arm"},
		{"the parent's answers were never kept", "baseline", func(l *ledger.Launch) {
			l.Samples = ""
		}, nil, verdict.Invalid, "no answers of baseline to chat are recorded"},
		{"other prompts", "baseline", nil, has(others), verdict.Pass, "1 launch per arm"},
		{"raw answers of another launch", "baseline", nil, func(l *ledger.Launch) {
			l.ID = "c.2"
			has(sound)(l)
			l.ID = "c.1"
		}, "", "the raw samples named by launch c.1 are of another launch: launch is c.2, not c.1"},
		{
			"raw answers are gone", "baseline", nil, func(l *ledger.Launch) { l.Samples = strings.Repeat("0", 64) }, "",
			"the answers of launch c.1",
		},
	} {
		launch := func(key string, change func(*ledger.Launch)) *ledger.Launch {
			l := &ledger.Launch{ID: key + ".1", VariantKey: key, OK: true}
			has(sound)(l)
			if change != nil {
				change(l)
			}
			return l
		}
		judge := newChecker()
		judge.Launches.Store = kept
		w := &plans.Workload{
			Name: "chat", Coherence: c.mode, PromptTokens: []int{1}, OutputTokens: []int{1},
			Depth: []int{0}, Concurrency: []int{1},
		}
		got, reasons, err := judge.Valid([]*ledger.Launch{launch("p", c.parent), launch("c", c.candidate)}, vs,
			[]*plans.Workload{w}, 1)
		if err != nil {
			reasons = append(reasons, verdict.OfError(err))
		}
		if got != c.want || !strings.Contains(verdict.Semicolons(reasons), c.says) {
			t.Errorf("%s: %s %q, want %s saying %q", c.name, got, verdict.Lines(reasons), c.want, c.says)
		}
	}
}

// Where some launches of both arms were counted apart, so are their speeds.
func TestCountedApartWithinArms(t *testing.T) {
	launch := func(id string, events bool) *ledger.Launch {
		return &ledger.Launch{ID: id, Cells: []measure.CellRun{{Cell: "chat", ByEvents: events}}}
	}
	parent := []*ledger.Launch{launch("p.1", false), launch("p.2", true)}
	candidate := []*ledger.Launch{launch("c.1", false), launch("c.2", true), launch("c.3", true)}
	if why := mixedTokenCounts(parent, candidate, "baseline", "fast"); why.Kind != "work.counted_mixed" ||
		!strings.Contains(why.String(), "in p.2, c.2 and c.3") {
		t.Errorf("mixed in both arms: %q", why.String())
	}
	// A launch that sent nothing of it counts for neither.
	silent := &ledger.Launch{ID: "p.3"}
	if why := mixedTokenCounts(append(parent[1:], silent), candidate[1:], "baseline", "fast"); !why.IsZero() {
		t.Errorf("as stream events throughout: %q", why.String())
	}
}

// What holds for several launches is said once.
func TestNotesOf(t *testing.T) {
	page, slow := verdict.Say("machine.watched", "{text}",
		verdict.Text("text", "no page")), verdict.Say("machine.watched", "{text}",
		verdict.Text("text", "slow"))
	got := verdict.Lines(NotesOf([]*ledger.Launch{
		{ID: "s.baseline.1", Notes: []verdict.Reason{page, slow, slow}},
		{ID: "s.B.1", Notes: []verdict.Reason{page}},
		{ID: "s.B.2"},
	}))
	if want := []string{"2 of 3 launches: no page", "s.baseline.1: slow"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// observingLaunch is a launch that says this of itself, all in one line.
func observingLaunch(id, arm string, seen map[string]any) *ledger.Launch {
	l := &ledger.Launch{ID: id, VariantKey: arm, OK: true, Observed: map[string]ledger.Observed{}}
	line := "engine with config:"
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		o := ledger.Observed{Value: seen[name], At: len(line) + len(name) + 2, Whole: true}
		line = fmt.Sprintf("%s %s=%v", line, name, seen[name])
		o.To = len(line)
		l.Observed[name] = o
	}
	for name, o := range l.Observed {
		o.Line = line
		l.Observed[name] = o
	}
	return l
}

func TestArmsHaveToAgree(t *testing.T) {
	kind := &kinds.Kind{Observe: []kinds.Pattern{
		{Name: "attention", Type: "string"},
		{Name: "graphs", Type: "bool"},
		{Name: "max_len", Type: "number"},
		{Name: "capacity", Type: "number", Consequence: true},
		{Name: "dtype", Type: "string"},
	}}
	knob := &plans.Knob{Name: "moe", Default: "a", Values: []*plans.KnobValue{
		{Name: "a", MustSee: plans.Evidence{Log: []string{"*config:*dtype=bf16*"}}},
		{Name: "b", MustSee: plans.Evidence{Observed: map[string]any{"graphs": true}}},
	}}
	other := &plans.Knob{
		Name: "other", Default: "x", Values: []*plans.KnobValue{{Name: "x"}},
		Changes: []string{"attention"},
	}
	judge := judgeOf(&plans.Plan{Knobs: []*plans.Knob{knob, other}})
	vs := []*variant.Variant{
		{
			Arm:  decide.Arm{Name: "baseline", Key: "A", Knobs: map[string]string{"moe": "a", "other": "x"}},
			Spec: engine.Spec{Profile: kind},
		},
		{
			Arm:  decide.Arm{Name: "candidate", Key: "B", Knobs: map[string]string{"moe": "b", "other": "x"}},
			Spec: engine.Spec{Profile: kind},
		},
	}
	type said = map[string]any
	for name, c := range map[string]struct {
		a1, a2, b1, b2 said
		changes        []string
		sets           map[string]any
		want           string
	}{
		"equal": {
			a1: said{"attention": "fa"}, a2: said{"attention": "fa"}, b1: said{"attention": "fa"},
			b2: said{"attention": "fa"},
		},
		"nothing observed": {},
		"word": {
			a1: said{"attention": "fa"}, a2: said{"attention": "fa"}, b1: said{"attention": "fi"},
			b2:   said{"attention": "fi"},
			want: `baseline and candidate differ in something the plan does not declare: attention is "fa" against "fi". If knob moe is meant to change it, add "attention" to its changes;`,
		},
		"changed by a knob": {
			a1: said{"attention": "fa"}, a2: said{"attention": "fa"}, b1: said{"attention": "fi"},
			b2: said{"attention": "fi"}, changes: []string{"attention"},
		},
		"observed evidence": {
			a1: said{"graphs": false}, a2: said{"graphs": false}, b1: said{"graphs": true},
			b2: said{"graphs": true},
		},
		"line of evidence": {
			a1: said{"dtype": "bf16"}, a2: said{"dtype": "bf16"}, b1: said{"dtype": "fp8"},
			b2: said{"dtype": "fp8"},
		},
		// The line has it beside what is proved: a candidate in another format would pass.
		"on the line of evidence": {
			a1: said{"attention": "fa", "dtype": "bf16"},
			a2: said{"attention": "fa", "dtype": "bf16"}, b1: said{"attention": "fi", "dtype": "fp8"},
			b2: said{"attention": "fi", "dtype": "fp8"}, want: `attention is "fa" against "fi"`,
		},
		"what a knob sets": {
			a1: said{"attention": "fa"}, a2: said{"attention": "fa"},
			b1: said{"attention": "fi"}, b2: said{"attention": "fi"}, sets: map[string]any{"attention_backend": "FI"},
		},
		"what another sets": {
			a1: said{"attention": "fa"}, a2: said{"attention": "fa"},
			b1: said{"attention": "fi"}, b2: said{"attention": "fi"}, sets: map[string]any{"dtype": "fp8"},
			want: `attention is "fa" against "fi"`,
		},
		"missing in one arm": {
			a1: said{"attention": "fa"}, a2: said{"attention": "fa"},
			want: `attention is "fa" against not observed`,
		},
		"two at once": {
			a1: said{"attention": "fa", "max_len": 1.0},
			a2: said{"attention": "fa", "max_len": 1.0}, b1: said{"attention": "fi", "max_len": 2.0},
			b2:   said{"attention": "fi", "max_len": 2.0},
			want: `attention is "fa" against "fi"; max_len is 1 against 2. If knob moe is meant to change it, add "attention", "max_len" to its changes;`,
		},
		"limit": {
			a1: said{"max_len": 1.0}, a2: said{"max_len": 1.0}, b1: said{"max_len": 2.0},
			b2: said{"max_len": 2.0}, want: "max_len is 1 against 2",
		},
		"what varies": {
			a1: said{"capacity": 1.0}, a2: said{"capacity": 2.0},
			b1: said{"capacity": 3.0}, b2: said{},
		},
		"within an arm": {
			a1: said{"attention": "fa"}, a2: said{"attention": "fi"},
			b1: said{"attention": "fa"}, b2: said{"attention": "fa"}, changes: []string{"attention"},
			want: `launches of baseline differ in attention: "fa" in launch a1, "fi" in launch a2`,
		},
		"lost within an arm": {
			a1: said{"attention": "fa"}, a2: said{"attention": "fa"},
			b1: said{"attention": "fa"}, b2: said{},
			want: `launches of candidate differ in attention: "fa" in launch b1, not observed in launch b2`,
		},
		"another type": {
			a1: said{"attention": "true"}, a2: said{"attention": "true"},
			b1: said{"attention": true}, b2: said{"attention": true}, want: `"true" against true`,
		},
		"a knob that is set": {a1: said{"unknown": "x"}, a2: said{"unknown": "y"}}, // nobody looks for it any more
	} {
		t.Run(name, func(t *testing.T) {
			knob.Changes, knob.Values[1].Settings = c.changes, c.sets
			got, err := judge.IncomparableObservations([]*ledger.Launch{
				observingLaunch("a1", "A", c.a1), observingLaunch("b1", "B", c.b1), observingLaunch("b2", "B", c.b2),
				observingLaunch("a2", "A", c.a2),
			}, vs)
			if err != nil || got.IsZero() != (c.want == "") || !strings.Contains(got.String(), c.want) {
				t.Errorf("%q, %v; want %q", got.String(), err, c.want)
			}
		})
	}
}

// What a plan may accept is what environments are known by.
func TestFingerprintEntries(t *testing.T) {
	for name := range machine.Environment() {
		if !slices.Contains(plans.FingerprintEntries, name) {
			t.Errorf("the machine is known by %q, which no plan can accept", name)
		}
	}
}

// launchedIn is a launch of an arm in an environment: "kernel=6 driver=580".
func launchedIn(arm, id, environment string) *ledger.Launch {
	l := &ledger.Launch{ID: id, VariantKey: arm, Fingerprint: map[string]string{}}
	for _, pair := range strings.Fields(environment) {
		name, value, _ := strings.Cut(pair, "=")
		l.Fingerprint[name] = value
	}
	return l
}

func TestOtherEnvironment(t *testing.T) {
	image := func(name string) *plans.KnobValue { return &plans.KnobValue{Name: name, Image: name} }
	plan := &plans.Plan{Baseline: &plans.Baseline{}, Knobs: []*plans.Knob{
		{Name: "image", Values: []*plans.KnobValue{image("old"), image("new")}},
		{Name: "env", Values: []*plans.KnobValue{{Name: "off"}, {Name: "on"}}},
	}}
	a := &variant.Variant{Arm: decide.Arm{Name: "baseline", Key: "a", Knobs: map[string]string{
		"image": "old",
		"env":   "off",
	}}, Spec: engine.Spec{Command: []string{"vllm", "serve", "m"}}}
	b := &variant.Variant{Arm: decide.Arm{Name: "faster", Key: "b"}}
	with := func(changes map[string]string, command string) func() {
		return func() {
			b.Knobs = maps.Clone(a.Knobs)
			maps.Copy(b.Knobs, changes)
			b.Spec = engine.Spec{Command: strings.Fields(command)}
		}
	}
	same := with(map[string]string{"env": "on"}, "vllm serve m")
	for _, test := range []struct {
		name         string
		arms         func()
		accept       []string
		one, two, of string
		want         string
	}{
		{"the same", same, nil, "kernel=6 driver=5", "kernel=6 driver=5", "kernel=6 driver=5", ""},
		{
			"another driver", same, nil, "driver=580", "driver=580", "driver=590",
			"baseline and faster ran in different environments: driver is 580 in launch 1 and 590 in launch 3",
		},
		{
			"within an arm", same, nil, "packages=x", "packages=y", "packages=x",
			"launches of baseline ran in different environments: packages is x in launch 1 and y in launch 2",
		},
		{"accepted", same, []string{"driver"}, "driver=580", "driver=580", "driver=590", ""},
		{
			"something else is accepted", same,
			[]string{"kernel"},
			"driver=580", "driver=580", "driver=590",
			"driver is 580",
		},
		{"all accepted", same, []string{"all"}, "driver=580", "kernel=7", "driver=590", ""},
		{"a tree", same, nil, "repo.vllm=1", "repo.vllm=1", "repo.vllm=2", "repo.vllm is 1"},
		{"any tree accepted", same, []string{"repo.*"}, "repo.vllm=1", "repo.vllm=1", "repo.vllm=2", ""},
		{
			"absent on one side", same, nil, "weights=1 cpu=c", "weights=1 cpu=c", "cpu=c",
			"weights is 1 in launch 1 and unknown",
		},
		{"absent on the other", same, nil, "cpu=c", "cpu=c", "weights=1 cpu=c", "weights is unknown"},
		{"without any", same, nil, "cpu=c", "cpu=c", "", "launch 3 has no fingerprint"},
		{
			"the image is under test", with(map[string]string{"image": "new"}, "vllm serve m"), nil, "image=1 torch=2",
			"image=1 torch=2", "image=2 torch=3", "",
		},
		{
			"and only the image", with(map[string]string{"image": "new"}, "vllm serve m"), nil, "image=1 driver=2",
			"image=1 driver=2", "image=2 driver=3", "driver is 2",
		},
		{
			"not within an arm", with(map[string]string{"image": "new"}, "vllm serve m"), nil, "image=1", "image=2",
			"image=2", "launches of baseline",
		},
		{"the model is under test", with(nil, "vllm serve m2"), nil, "weights=1", "weights=1", "weights=2", ""},
		{"the model was replaced", same, nil, "weights=1", "weights=1", "weights=2", "weights is 1"},
		{
			"the program is under test", with(nil, "/other/vllm serve m"), nil, "packages=1", "packages=1",
			"packages=2", "",
		},
	} {
		test.arms()
		plan.Baseline.AcceptFingerprint = test.accept
		judge := judgeOf(plan)
		got := judge.OtherEnvironment([]*ledger.Launch{
			launchedIn("a", "1", test.one), launchedIn("a", "2", test.two), launchedIn("b", "3", test.of),
		}, []*variant.Variant{a, b})
		if got.IsZero() != (test.want == "") || !strings.Contains(got.String(), test.want) {
			t.Errorf("%s: %q", test.name, got.String())
		}
	}
	// Whole engines are compared: only the machine has to be the same.
	other := &variant.Variant{
		Arm:  decide.Arm{Name: "sglang", Engine: "sglang.box", Key: "b", Knobs: a.Knobs},
		Spec: a.Spec,
	}
	for environment, want := range map[string]string{
		"image=2 torch=3 weights=4 cpu=c": "",
		"image=2 cpu=d":                   "cpu is c",
	} {
		got := judgeOf(plan).OtherEnvironment([]*ledger.Launch{
			launchedIn("a", "1", "image=1 cpu=c"),
			launchedIn("b", "2", environment),
		}, []*variant.Variant{a, other})
		if got.IsZero() != (want == "") || !strings.Contains(got.String(), want) {
			t.Errorf("another engine in %s: %q", environment, got.String())
		}
	}
	same()
	// What is said of a shared GPU is nothing that validity hangs on, and neither is
	// what another note says.
	for words, c := range map[string]struct {
		note    verdict.Reason
		invalid bool
	}{
		"with who it was": {verdict.New(code.GPUShared, verdict.Text("by", "process 7")), true},
		"in other words":  {verdict.New(code.GPUShared, verdict.Text("who", "somebody")), true},
		"another note": {verdict.Say("machine.watched", "{text}",
			verdict.Text("text", "shared GPU: process 7")), false},
	} {
		shared := launchedIn("b", "9", "cpu=c")
		shared.Notes = []verdict.Reason{verdict.Say("answers.by_events",
			"tokens of {subject} were counted as stream events, as the engine does not count them").On("chat"), c.note}
		got := judgeOf(plan).OtherEnvironment([]*ledger.Launch{launchedIn("a", "1", "cpu=c"), shared},
			[]*variant.Variant{a, b})
		if verdict.Holds([]verdict.Reason{got}, code.GPUShared.Kind) != c.invalid || got.IsZero() == c.invalid ||
			c.invalid && got.Subject != "9" {
			t.Errorf("a shared GPU %s: %+v", words, got)
		}
	}
}

// TestClocks: arms whose SM clocks differ by more than 1% are not compared, unless the
// power limit may have made it; where nothing was read nothing is said.
func TestClocks(t *testing.T) {
	arm := func(clock, capped float64) []*ledger.Launch {
		l := &ledger.Launch{Metrics: map[string]measure.Summary{}}
		for address, v := range map[string]float64{"gpu.clock_mhz": clock, "gpu.power_capped_share": capped} {
			if v >= 0 {
				l.Metrics[address] = measure.Summary{Stats: map[string]float64{"median": v}}
			}
		}
		return []*ledger.Launch{l, l}
	}
	for _, c := range []struct {
		name              string
		parent, candidate []*ledger.Launch
		why, note         code.Kind
	}{
		{"alike", arm(1980, 0), arm(1980, 0), "", ""},
		{"a step of 15 MHz", arm(1980, 0), arm(1965, 0), "", ""},
		{"the candidate's raised", arm(1755, 0), arm(1980, 0), "gpu.clocks_apart", ""},
		{"the parent's lowered by 2%", arm(1980, 0), arm(1940, 0), "gpu.clocks_apart", ""},
		{"at the power limit", arm(1980, 0), arm(1800, 0.8), "", "gpu.clocks_follow"},
		{"the parent at the power limit", arm(1800, 0.8), arm(1980, 0), "", "gpu.clocks_follow"},
		{"nobody knows of a limit", arm(1800, -1), arm(1980, 0), "", "gpu.clocks_follow"},
		{"no clock", arm(-1, 0), arm(1980, 0), "", ""},
		{"no launch", nil, arm(1980, 0), "", ""},
	} {
		if why, note := clocks(c.parent, c.candidate, "old", "new"); why.Kind != c.why || note.Kind != c.note {
			t.Errorf("%s: %+v, %+v", c.name, why, note)
		}
	}
}

// A row's answers are held against the reference's by kind and by share: what an honest
// engine says differs by engine, and no one slip of the reference excuses broken numerics.
func TestValidBesideAnotherEngine(t *testing.T) {
	kept, err := store.Open(t.TempDir())
	must.Do(t, err)
	t.Cleanup(func() { kept.Close() })
	prose := prompt.Prose()
	// Two launches get the same 8 prompts: the first few answers are bad, the rest sound.
	launches := func(key string, bad string, few int, sound func(i int) string) (all []*ledger.Launch) {
		for n := range 2 {
			l := &ledger.Launch{ID: fmt.Sprint(key, ".", n+1), VariantKey: key, OK: true}
			var samples []measure.Sample
			for i := range 8 {
				text := sound(i)
				if i < few {
					text = bad
				}
				if text != "" {
					text += fmt.Sprint(" ", n)
				}
				samples = append(samples, measure.Sample{
					Workload: "chat", Index: i, PromptSum: fmt.Sprint(i),
					Text: text, Events: []measure.Event{{}},
				})
			}
			for _, f := range answers.Incoherent(samples) {
				l.Incoherent = append(l.Incoherent, record.FindingOf(f).On(f.Cell))
			}
			must.Do(t, kept.WriteSamples("", l, samples))
			all = append(all, l)
		}
		return all
	}
	plain := func(i int) string { return prose[i] + " " + prose[i+8] }
	chinese := func(i int) string {
		words := []rune("水在高山上沸腾的温度较低所以豆子要煮得更久河流把沙子带到海里大海又把一部分还给海滩月亮引起潮汐每天两次面包因为酵母把糖变成气体而膨胀")
		var b strings.Builder
		for k := range 60 {
			b.WriteRune(words[(k*(2*i+3)+k*k)%len(words)])
		}
		return b.String()
	}
	circles := func(i int) string {
		return prose[i] + strings.Repeat(" And then the ferry went back to the other side.", 12)
	}
	nan, empty := "nan nan nan, nan", ""
	slips := launches("r", empty, 2, plain)
	clean := launches("r", "", 0, plain)
	invalid := func(l []*ledger.Launch, disturbed bool) []*ledger.Launch {
		l[1].Invalid, l[1].Disturbed = verdict.Because(code.FromCache), disturbed
		return l
	}
	server := &variant.Variant{Arm: decide.Arm{Name: "vllm.a", Engine: "vllm.a", Key: "r"}}
	command := &variant.Variant{
		Arm:     decide.Arm{Name: "command.a", Engine: "command.a", Key: "r"},
		Command: &variant.Command{},
	}
	row := &variant.Variant{Arm: decide.Arm{Name: "sglang.b", Engine: "sglang.b", Key: "o"}}
	for _, c := range []struct {
		name, mode     string
		own, reference []*ledger.Launch
		beside         *variant.Variant
		want           verdict.Verdict
		says           string
	}{
		{"the same", "baseline", launches("o", "", 0, plain), clean, server, verdict.Pass, ""},
		{
			"as much garbage of another kind", "baseline", launches("o", nan, 2, plain), slips, server, verdict.Invalid,
			"answers of sglang.b to chat are worse than those of vllm.a (4 of 16)",
		},
		{"the same slips", "baseline", launches("o", empty, 2, plain), slips, server, verdict.Pass, ""},
		{"one slip more", "baseline", launches("o", empty, 3, plain), slips, server, verdict.Pass, ""},
		{
			"nothing but empty answers", "baseline", launches("o", empty, 8, plain), slips, server, verdict.Invalid,
			"worse than those of vllm.a",
		},
		{
			"other words", "baseline", launches("o", "", 0, func(i int) string { return prose[(i+9)%len(prose)] }),
			clean,
			server, verdict.Pass, "",
		},
		{"another language", "baseline", launches("o", "", 0, chinese), clean, server, verdict.Pass, ""},
		{
			"circles past the end of an answer", "baseline", launches("o", "", 0, circles), clean, server,
			verdict.Pass, "",
		},
		{
			"each answer is looked at", "absolute", launches("o", empty, 1, plain), clean, server, verdict.Invalid,
			"of sglang.b are not readable text",
		},
		{
			"each of the reference's", "absolute", launches("o", "", 0, plain), slips, server, verdict.Invalid,
			"of vllm.a are not readable text",
		},
		{
			"nobody looks", "off", launches("o", nan, 8, plain), clean, server, verdict.Pass,
			"answers of chat were not checked",
		},
		{
			"beside a command", "baseline", launches("o", nan, 1, plain), nil, command, verdict.Invalid,
			"of sglang.b are not readable text",
		},
		{
			"beside a reference that broke", "baseline", launches("o", empty, 1, plain), nil, server, verdict.Invalid,
			"of sglang.b are not readable text",
		},
		{
			"disturbed", "baseline", invalid(launches("o", "", 0, plain), true), clean, server,
			verdict.Inconclusive, "launch o.2",
		},
		{"cached", "off", invalid(launches("o", "", 0, plain), false), clean, server, verdict.Invalid, "launch o.2"},
	} {
		judge := newChecker()
		judge.Launches.Store = kept
		w := &plans.Workload{
			Name: "chat", Coherence: c.mode, PromptTokens: []int{1}, OutputTokens: []int{1},
			Depth: []int{0}, Concurrency: []int{1},
		}
		got, said, err := judge.Valid(slices.Concat(c.reference, c.own), []*variant.Variant{c.beside, row},
			[]*plans.Workload{w}, 2)
		if err != nil || got != c.want || !strings.Contains(verdict.Semicolons(said), c.says) {
			t.Errorf("%s: %s %q, %v; want %s saying %q", c.name, got, verdict.Lines(said), err, c.want, c.says)
		}
	}
	w := &plans.Workload{
		Name: "chat", Coherence: "baseline", PromptTokens: []int{1}, OutputTokens: []int{1},
		Depth: []int{0}, Concurrency: []int{1},
	}
	judge := newChecker()
	judge.Launches.Store = kept
	if got, said, err := judge.Valid(slips, []*variant.Variant{server}, []*plans.Workload{w}, 2); err != nil ||
		got != verdict.Pass {
		t.Errorf("the reference itself: %s %q, %v", got, verdict.Lines(said), err)
	}
}
