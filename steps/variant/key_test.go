package variant

import (
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
)

func TestMachineKeyAccepts(t *testing.T) {
	p := &plans.Plan{Baseline: &plans.Baseline{AcceptFingerprint: []string{"driver"}}}
	old, now := map[string]string{"driver": "580", "cpu": "c"}, map[string]string{"driver": "590", "cpu": "c"}
	if MachineKey(old, p) != MachineKey(now, p) || MachineKey(old, nil) == MachineKey(now, nil) || MachineKey(old, &plans.Plan{}) != MachineKey(old, nil) {
		t.Error("the key of a machine does not follow what the plan accepts")
	}
}

// TestKeysChangeWithSecretsAndDoNotShowThem gives two secrets to one plan.
func TestKeysChangeWithSecretsAndDoNotShowThem(t *testing.T) {
	seal := func(key string) *redact.Redactor {
		return redact.NewWith([]string{"secret one", "secret two"}, func(s string) string { return key + s[len(s)-3:] })
	}
	spec := func(secret string) engine.Spec {
		return engine.Spec{Kind: "openai", Command: []string{"serve", "--token=" + secret}, Env: map[string]string{"T": secret}}
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
