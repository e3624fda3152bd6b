package steps

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/metadata"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// What a plan may accept is what environments are known by.
func TestFingerprintEntries(t *testing.T) {
	if !slices.Equal(plans.FingerprintEntries, metadata.Keys()) {
		t.Errorf("the plan language has %q, launches have %q", plans.FingerprintEntries, metadata.Keys())
	}
	for name := range machine.Environment() {
		if !slices.Contains(metadata.Keys(), name) {
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
	a := &variant.Variant{Name: "baseline", Key: "a", Knobs: map[string]string{"image": "old", "env": "off"}, Spec: engine.Spec{Command: []string{"vllm", "serve", "m"}}}
	b := &variant.Variant{Name: "faster", Key: "b"}
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
		{"another driver", same, nil, "driver=580", "driver=580", "driver=590", "baseline and faster ran in different environments: driver is 580 in launch 1 and 590 in launch 3"},
		{"within an arm", same, nil, "packages=x", "packages=y", "packages=x", "launches of baseline ran in different environments: packages is x in launch 1 and y in launch 2"},
		{"accepted", same, []string{"driver"}, "driver=580", "driver=580", "driver=590", ""},
		{"something else is accepted", same, []string{"kernel"}, "driver=580", "driver=580", "driver=590", "driver is 580"},
		{"all accepted", same, []string{"all"}, "driver=580", "kernel=7", "driver=590", ""},
		{"a tree", same, nil, "repo.vllm=1", "repo.vllm=1", "repo.vllm=2", "repo.vllm is 1"},
		{"any tree accepted", same, []string{"repo.*"}, "repo.vllm=1", "repo.vllm=1", "repo.vllm=2", ""},
		{"absent on one side", same, nil, "weights=1 cpu=c", "weights=1 cpu=c", "cpu=c", "weights is 1 in launch 1 and unknown"},
		{"absent on the other", same, nil, "cpu=c", "cpu=c", "weights=1 cpu=c", "weights is unknown"},
		{"without any", same, nil, "cpu=c", "cpu=c", "", "launch 3 has no fingerprint"},
		{"the image is under test", with(map[string]string{"image": "new"}, "vllm serve m"), nil, "image=1 torch=2", "image=1 torch=2", "image=2 torch=3", ""},
		{"and only the image", with(map[string]string{"image": "new"}, "vllm serve m"), nil, "image=1 driver=2", "image=1 driver=2", "image=2 driver=3", "driver is 2"},
		{"not within an arm", with(map[string]string{"image": "new"}, "vllm serve m"), nil, "image=1", "image=2", "image=2", "launches of baseline"},
		{"the model is under test", with(nil, "vllm serve m2"), nil, "weights=1", "weights=1", "weights=2", ""},
		{"the model was replaced", same, nil, "weights=1", "weights=1", "weights=2", "weights is 1"},
		{"the program is under test", with(nil, "/other/vllm serve m"), nil, "packages=1", "packages=1", "packages=2", ""},
	} {
		test.arms()
		plan.Baseline.AcceptFingerprint = test.accept
		lab := NewLab(plan, nil)
		got := lab.otherEnvironment([]*ledger.Launch{
			launchedIn("a", "1", test.one), launchedIn("a", "2", test.two), launchedIn("b", "3", test.of),
		}, []*variant.Variant{a, b})
		if got.IsZero() != (test.want == "") || !strings.Contains(tell.Line(got), test.want) {
			t.Errorf("%s: %q", test.name, tell.Line(got))
		}
	}
	// Whole engines are compared: only the machine has to be the same.
	other := &variant.Variant{Name: "sglang", Engine: "sglang.box", Key: "b", Knobs: a.Knobs, Spec: a.Spec}
	for environment, want := range map[string]string{"image=2 torch=3 weights=4 cpu=c": "", "image=2 cpu=d": "cpu is c"} {
		got := (NewLab(plan, nil)).otherEnvironment([]*ledger.Launch{launchedIn("a", "1", "image=1 cpu=c"), launchedIn("b", "2", environment)}, []*variant.Variant{a, other})
		if got.IsZero() != (want == "") || !strings.Contains(tell.Line(got), want) {
			t.Errorf("another engine in %s: %q", environment, tell.Line(got))
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
		"another note":    {verdict.New(code.Watched, verdict.Text("text", "shared GPU: process 7")), false},
	} {
		shared := launchedIn("b", "9", "cpu=c")
		shared.Notes = []verdict.Reason{verdict.New(code.ByEvents).On("chat"), c.note}
		got := (NewLab(plan, nil)).otherEnvironment([]*ledger.Launch{launchedIn("a", "1", "cpu=c"), shared}, []*variant.Variant{a, b})
		if verdict.Holds([]verdict.Reason{got}, code.GPUShared) != c.invalid || got.IsZero() == c.invalid || c.invalid && got.Subject != "9" {
			t.Errorf("a shared GPU %s: %+v", words, got)
		}
	}
}
