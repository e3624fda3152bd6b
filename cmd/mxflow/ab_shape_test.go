package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestShapeOfTwoCommands(t *testing.T) {
	none := map[string]string{}
	env := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, c := range []struct {
		a, b string
		want abShape
	}{
		{"K=1 ./serve.sh", "K=2 ./serve.sh", abShape{none, []string{"./serve.sh"}, nil, [2]abOwn{{Env: env("K", "1")}, {Env: env("K", "2")}}}},
		{"X=0 ./serve.sh", "X=0 K=2 ./serve.sh", abShape{env("X", "0"), []string{"./serve.sh"}, nil, [2]abOwn{{Env: none}, {Env: env("K", "2")}}}},
		{"serve m", "serve m --fast", abShape{none, []string{"serve", "m"}, nil, [2]abOwn{{Env: none, Args: []string{}}, {Env: none, Args: []string{"--fast"}}}}},
		{"serve --k 1 --x", "serve --k 2", abShape{none, []string{"serve"}, nil, [2]abOwn{{Env: none, Args: []string{"--k", "1", "--x"}}, {Env: none, Args: []string{"--k", "2"}}}}},
		{"--odd 1", "--odd 2", abShape{none, []string{"--odd"}, nil, [2]abOwn{{Env: none, Args: []string{"1"}}, {Env: none, Args: []string{"2"}}}}},
		{"old/serve m", "K=1 new/serve m", abShape{none, []string{"old/serve", "m"}, nil, [2]abOwn{{Env: none}, {Env: env("K", "1"), Command: []string{"new/serve", "m"}}}}},
	} {
		a, errA := parseArm("a", c.a)
		b, errB := parseArm("b", c.b)
		got, err := shapeOf(a, b)
		if errA != nil || errB != nil || err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s / %s: %#v (%v %v %v), want %#v", c.a, c.b, got, errA, errB, err, c.want)
		}
	}
}

func TestArmsThatCannotBe(t *testing.T) {
	for text, says := range map[string]string{
		"":                            "no command",
		"K=1":                         "no command",
		"'' x":                        "no command",
		"HF_TOKEN=abc ./s":            "HF_TOKEN looks like a secret",
		"OPENAI_API_KEY=x ./s":        "looks like a secret",
		"./s --api-key sk-1":          "behind --api-key looks like a secret",
		"./s --hf-token=hf_1":         "behind --hf-token looks like a secret",
		"K=1 ./s 'x":                  "not closed",
		"./s\x00":                     "NUL",
		"MAX_TOKENS=4 TOKEN_X=1 ./s*": "sh -c",
	} {
		if _, err := parseArm("b", text); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "--b") {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if _, err := parseArm("a", "MAX_TOKENS=4 HF_TOKEN= ./s"); err != nil {
		t.Error(err)
	}
	a, _ := parseArm("a", "K=1 ./s  x")
	b, _ := parseArm("b", "K='1' ./s 'x'")
	if _, err := shapeOf(a, b); err == nil || !strings.Contains(err.Error(), "the same command") {
		t.Errorf("the same command twice: %v", err)
	}
}
