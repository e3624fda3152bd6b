package variant

import (
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/decide"
)

func TestMachineKeyAccepts(t *testing.T) {
	p := &plans.Plan{Baseline: &plans.Baseline{AcceptFingerprint: []string{"driver"}}}
	old, now := map[string]string{"driver": "580", "cpu": "c"}, map[string]string{"driver": "590", "cpu": "c"}
	if MachineKey(old, p) != MachineKey(now, p) || MachineKey(old, nil) == MachineKey(now, nil) ||
		MachineKey(old, &plans.Plan{}) != MachineKey(old, nil) {
		t.Error("the key of a machine does not follow what the plan accepts")
	}
}

// seal replaces two secrets.
func seal(key string) *redact.Redactor {
	return redact.NewWith([]string{"secret one", "secret two"}, func(s string) string { return key + s[len(s)-3:] })
}

// TestKeysChangeWithSecretsAndDoNotShowThem gives two secrets to one plan.
func TestKeysChangeWithSecretsAndDoNotShowThem(t *testing.T) {
	spec := func(secret string) engine.Spec {
		return engine.Spec{
			Kind: "openai", Command: []string{"serve", "--token=" + secret},
			Env: map[string]string{"T": secret},
		}
	}
	one := (&Resolver{Seal: seal("a")}).variantKey(t.Context(), spec("secret one"))
	if again := (&Resolver{Seal: seal("a")}).variantKey(t.Context(), spec("secret one")); again != one {
		t.Error("the key of one secret changes")
	}
	if two := (&Resolver{Seal: seal("a")}).variantKey(t.Context(), spec("secret two")); two == one {
		t.Error("another secret has the same key")
	}
	if other := (&Resolver{Seal: seal("b")}).variantKey(t.Context(), spec("secret one")); other == one {
		t.Error("the key can be computed without the seal")
	}
	if plain := (&Resolver{}).variantKey(t.Context(), spec("secret one")); plain == one {
		t.Error("the key is not sealed")
	}
}

func withKnobs(p *plans.Plan, knobs map[string]string) *Variant {
	return &Variant{Arm: decide.Arm{Knobs: knobs, Set: p.ChangedKnobs(knobs)}}
}

// TestEvidenceKeyCoversAllEvidence changes one thing after the other of what proves a
// variant: no two of them may have one key.
func TestEvidenceKeyCoversAllEvidence(t *testing.T) {
	key := func(knobs map[string]string, change func(p *plans.Plan)) string {
		p := &plans.Plan{Baseline: &plans.Baseline{}, Knobs: []*plans.Knob{
			{Name: "kept", Default: "off", Values: []*plans.KnobValue{{Name: "off"}}},
			{Name: "moe", Default: "off", Values: []*plans.KnobValue{{Name: "off"}, {Name: "on"}}},
		}}
		change(p)
		return (&Resolver{Plan: p}).EvidenceKey(withKnobs(p, knobs))
	}
	off, on := map[string]string{"kept": "off", "moe": "off"}, map[string]string{"kept": "off", "moe": "on"}
	none := func(*plans.Plan) {}
	kept := func(p *plans.Plan) *plans.KnobValue { return p.Knobs[0].Values[0] }
	set := func(p *plans.Plan) *plans.KnobValue { return p.Knobs[1].Values[1] }
	seen := map[string]string{}
	for name, k := range map[string]string{
		"baseline":             key(off, none),
		"candidate":            key(on, none),
		"without a knob":       key(map[string]string{"moe": "on"}, none),
		"must see":             key(on, func(p *plans.Plan) { set(p).MustSee.Log = []string{"*a*"} }),
		"must not see":         key(on, func(p *plans.Plan) { set(p).MustNotSee.Log = []string{"*a*"} }),
		"must observe":         key(on, func(p *plans.Plan) { set(p).MustSee.Observed = map[string]any{"a": true} }),
		"must not observe":     key(on, func(p *plans.Plan) { set(p).MustNotSee.Observed = map[string]any{"a": true} }),
		"of the baseline":      key(on, func(p *plans.Plan) { kept(p).MustSee.Log = []string{"*a*"} }),
		"baseline's, not seen": key(on, func(p *plans.Plan) { kept(p).MustNotSee.Log = []string{"*a*"} }),
	} {
		if other, twice := seen[k]; twice {
			t.Errorf("%q and %q have one key", name, other)
		}
		seen[k] = name
	}
	if again := key(on, none); seen[again] != "candidate" {
		t.Error("the same evidence has two keys")
	}
	if other := key(off, func(p *plans.Plan) { set(p).MustSee.Log = []string{"*a*"} }); seen[other] != "baseline" {
		t.Error("evidence of a value that is not in use changes the key")
	}
}

// TestEvidenceKeyIsOneDigest: written value by value, it is the digest that is on record.
func TestEvidenceKeyIsOneDigest(t *testing.T) {
	value := func(name, log string) *plans.KnobValue {
		return &plans.KnobValue{Name: name, MustSee: plans.Evidence{Log: []string{log}}}
	}
	l := &Resolver{Seal: seal("a"), Plan: &plans.Plan{Baseline: &plans.Baseline{}, Knobs: []*plans.Knob{
		{Name: "one", Default: "off", Values: []*plans.KnobValue{value("off", "*"), value("on", "<secret one>")}},
		{Name: "two", Default: "off", Values: []*plans.KnobValue{value("off", "*"), value("on", "a&b \u2028")}},
	}}}
	knobs := map[string]string{"one": "on", "two": "on"}
	base := l.SecretDigest("evidence", EvidenceFor(l.Plan, l.Plan.DefaultKnobs()))
	all := EvidenceFor(l.Plan, knobs)
	want := l.SecretDigest(base, []any{"one", "on", all[:1], "two", "on", all[1:]})
	for range 2 {
		must.Equal(t, "evidence key", l.EvidenceKey(withKnobs(l.Plan, knobs)), want)
	}
	must.Equal(t, "that of the baseline", l.EvidenceKey(withKnobs(l.Plan, l.Plan.DefaultKnobs())), base)
}
