package variant

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans/load"
)

func TestProfileChangesACopy(t *testing.T) {
	before, _ := kinds.Lookup("vllm")
	spec := specOf(t, `engine "vllm" "fork" {
	  model = "m"
	  profile {
	    ready_path   = "/ready"
	    metrics_path = "/prom"
	    metrics      = { running = "fork:running" }
	    ignore_eos   = false
	  }
	}`)
	k := spec.Profile
	if k == nil {
		t.Fatal("the spec has no profile")
	}
	switch {
	case len(k.Ready) != 1 || k.Ready[0].Path != "/ready":
		t.Errorf("ready %v", k.Ready)
	case k.Metrics.Path != "/prom" || !slices.Equal(k.Metrics.Names["running"], []string{"fork:running", "vllm:num_requests_running"}):
		t.Errorf("metrics %v", k.Metrics)
	case k.Ask.IgnoreEOS || !k.Ask.Usage:
		t.Errorf("ask %v", k.Ask)
	}
	after, _ := kinds.Lookup("vllm")
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Error("the kind itself was changed")
	}
}

func TestEnginesThatCannotBe(t *testing.T) {
	profile := func(attr string) string {
		return "engine \"openai\" \"e\" {\n process {\n command = [\"x\"]\n }\n profile {\n" + attr + "\n }\n}"
	}
	vllm := func(body string) string { return "engine \"vllm\" \"e\" {\n" + body + "\n}\n" }
	knob := "knob \"k\" {\n default = \"a\"\n value \"a\" {\n settings = { fused = true }\n }\n}\n"
	tests := map[string]struct{ src, want string }{
		"no model":         {vllm(""), "Missing model"},
		"none for its own": {vllm("process {\n command = [\"vllm\", \"serve\", \"{model}\"]\n }"), "Missing model"},
		"none for exec":    {vllm("exec {\n container = \"c\"\n }"), "Missing model"},
		"none for docker":  {vllm("docker {\n command = [\"--model\", \"{model}\"]\n }"), "Missing model"},
		"none for compose": {vllm("compose {\n service = \"s\"\n command = [\"serve\", \"{model}\"]\n }"), "Missing model"},
		"no command":       {"engine \"openai\" \"e\" {\n exec {\n container = \"c\"\n }\n}", "Missing command"},
		"no choice":        {"engine \"llamacpp\" \"e\" {\n model = \"x.gguf\"\n settings = { attention_backend = \"fa3\" }\n}", "attention_backend must be one of on, off"},
		"unknown setting":  {vllm("model = \"m\"\n settings = { max_num_seq = 2 }"), "Did you mean"},
		"a page":           {profile(`ready_path = "health"`), `write "/health"`},
		"a knob's setting": {vllm(`model = "m"`) + knob, `has no setting "fused"`},
		"a knob before it": {knob + vllm(`model = "m"`), `has no setting "fused"`},
	}
	for name, tc := range tests {
		res := load.Bytes("plan.hcl", []byte("plan \"p\" {}\n"+tc.src), enginesOnly(), load.Options{})
		if got := fmt.Sprint(res.Diagnostics.Errs()); res.OK() || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %v, want %q", name, got, tc.want)
		}
	}
}

// A command that names its model itself, and one that is none of the plan's, need
// no model.
func TestEnginesThatNeedNoModel(t *testing.T) {
	for name, body := range map[string]string{
		"process":  `process { command = ["vllm", "serve", "/models/m", "--port", "{port}"] }`,
		"exec":     "exec {\n container = \"c\"\n command = [\"vllm\", \"serve\", \"/models/m\"]\n}",
		"docker":   `docker { command = ["--model", "m"] }`,
		"compose":  `compose { service = "s" }`,
		"endpoint": `endpoint { url = "http://box.example:8000" }`,
	} {
		src := "plan \"p\" {}\nengine \"vllm\" \"e\" {\n" + body + "\n}\n"
		if res := load.Bytes("plan.hcl", []byte(src), enginesOnly(), load.Options{}); !res.OK() {
			t.Errorf("%s: %v", name, res.Diagnostics.Errs())
		}
	}
}
