package variant

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
)

// A process sees the GPUs that its block names, unless its environment says
// otherwise.
func TestShowGPUs(t *testing.T) {
	block := func(devices ...any) *plans.Engine {
		devices = append([]any{}, devices...)
		return &plans.Engine{Parts: map[string][]*plans.Block{
			"gpu": {{Kind: "gpu", Attrs: map[string]any{"devices": devices, "wait": "1m0s"}}},
		}}
	}
	for _, test := range []struct {
		name string
		e    *plans.Engine
		spec engine.Spec
		want string
		set  bool
	}{
		{"named", block("1", "GPU-a"), engine.Spec{}, "1,GPU-a", true},
		{"none", block(), engine.Spec{}, "", true},
		{"all", block("all"), engine.Spec{}, "", false},
		{"no block", &plans.Engine{}, engine.Spec{}, "", false},
		{"a knob's own", block("1"), engine.Spec{Env: map[string]string{"CUDA_VISIBLE_DEVICES": "0"}}, "0", true},
		{
			"a knob's own, of another vendor", block("1"),
			engine.Spec{Env: map[string]string{"HIP_VISIBLE_DEVICES": "0"}},
			"", false,
		},
		{"in a container", block("1"), engine.Spec{Docker: &engine.Docker{}}, "", false},
	} {
		must.Do(t, showGPUs(test.e, &test.spec))
		if got, set := test.spec.Env["CUDA_VISIBLE_DEVICES"]; got != test.want || set != test.set {
			t.Errorf("%s: %q, %v", test.name, got, set)
		}
	}
}

func TestGPUBlockMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		attrs map[string]any
		want  string
	}{
		"everybody":  {map[string]any{"ignore": []any{"*"}}, "It would wait for no process"},
		"all right":  {map[string]any{"wait": "1s", "ignore": []any{"Xorg"}}, ""},
		"wrong type": {map[string]any{"wait": 3.0}, "decode gpu"},
	} {
		wrong := checkGPU(&plans.Block{Kind: "gpu", Attrs: test.attrs})
		if (test.want == "") != (len(wrong) == 0) || len(wrong) > 0 && !strings.Contains(wrong[0].Detail, test.want) {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}

// TestBuildsThatAreNoCommands: a message quotes what is wrong as the plan writes it.
func TestBuildsThatAreNoCommands(t *testing.T) {
	for _, c := range []struct {
		build any
		says  string
	}{
		{"make", `this is "make".`},
		{[]any{nil}, "entry 1 is null, which is not a list"},
		{[]any{[]any{"make"}, "<x>"}, `entry 2 is "<x>", which is not a list`},
		{[]any{[]any{}}, "entry 1 is empty."},
		{[]any{[]any{"make", nil}}, "entry 1 contains null, which is not text."},
		{[]any{[]any{map[string]any{"a": 1.0}}}, `entry 1 contains {"a":1}, which is not text.`},
		{[]any{[]any{"make", "-j8"}}, ""},
	} {
		wrong := checkSource(&plans.Block{Kind: "source", Attrs: map[string]any{"build": c.build}})
		if c.says == "" && len(wrong) == 0 {
			continue
		}
		if c.says == "" || len(wrong) != 1 || !strings.Contains(wrong[0].Detail, c.says) {
			t.Errorf("%v: %v, want %q", c.build, wrong, c.says)
		}
	}
}

func TestModelOf(t *testing.T) {
	named := &plans.Engine{Model: "served"}
	for command, want := range map[string]string{
		"vllm serve org/m --port 1":                              "org/m",
		"vllm serve --model=org/m":                               "org/m",
		"python3 -m sglang.launch_server --model-path /models/m": "/models/m",
		"python -m vllm.entrypoints.openai.api_server --port 1":  "served",
		"llama-server -m m.gguf --port 1":                        "m.gguf",
		"trtllm-serve serve":                                     "served",
		"transformers serve --force-model org/m":                 "org/m",
		"ollama serve --verbose":                                 "served",
		"":                                                       "served",
	} {
		must.Equal(t, command, ModelOf(engine.Spec{Command: strings.Fields(command)}, named), want)
	}
}

func TestPortNotTaken(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"fixed.py": "PORT = 8000\nserve(PORT)\n",
		"env.py":   "serve(int(os.environ[\"MXFLOW_PORT\"]))\n",
		"serve.sh": "exec ./server --port ${MXFLOW_PORT}\n",
		"other.sh": "exec ./server --port $MXFLOW_PORTS\n",
	} {
		must.Write(t, filepath.Join(dir, name), text)
	}
	process := func(words ...string) *plans.Engine {
		return &plans.Engine{Kind: "openai", Name: "own", Process: &plans.Process{Command: words}}
	}
	with := func(e *plans.Engine, change func(*plans.Engine)) *plans.Engine { change(e); return e }
	value := "{port}"
	for name, c := range map[string]struct {
		engine *plans.Engine
		value  plans.KnobValue
		want   string // part of each warning; empty is none
	}{
		"default port": {engine: process("python3", "fixed.py"), want: "port = 8000"},
		"named port": {
			engine: process("./server", "--port", "9123"),
			want:   "Write {port} in place of 9123, or add to its process block: ‹port = 9123›",
		},
		"another variable":  {engine: process("sh", "other.sh"), want: "nor $MXFLOW_PORT is in its command"},
		"placeholder":       {engine: process("./server", "--port={port}")},
		"in the shell":      {engine: process("sh", "-c", "./server -p $MXFLOW_PORT")},
		"script":            {engine: process("sh", "serve.sh")},
		"Python":            {engine: process("python3", "env.py")},
		"its worktree":      {engine: process("{source.v}/serve.sh")},
		"fixed in worktree": {engine: process("{source.v}/serve.sh", "--port", "9123"), want: "in place of 9123"},
		"args":              {engine: with(process("./server"), func(e *plans.Engine) { e.Args = []string{"{port}"} })},
		"environment": {engine: with(process("./server"), func(e *plans.Engine) {
			e.Env = map[string]string{"AT": "0.0.0.0:{port}"}
		})},
		"settings": {engine: with(process("./server"), func(e *plans.Engine) {
			e.Settings = map[string]any{"port": "{port}"}
		})},
		"declared":        {engine: with(process("./server"), func(e *plans.Engine) { e.Process.Port = 8000 })},
		"own command":     {engine: &plans.Engine{Kind: "vllm"}},
		"container":       {engine: &plans.Engine{Kind: "openai", Launch: &plans.Block{Kind: "docker"}}},
		"no server":       {engine: with(process("./bench"), func(e *plans.Engine) { e.Kind = "command" })},
		"kind's variable": {engine: with(process("ollama", "serve"), func(e *plans.Engine) { e.Kind = "ollama" })},
		"knob's args":     {engine: process("./server"), value: plans.KnobValue{Args: []string{"--port", "{port}"}}},
		"knob's variable": {
			engine: process("./server"),
			value:  plans.KnobValue{Env: map[string]*string{"AT": &value}},
		},
		"knob's command": {
			engine: process("./server", "{port}"),
			value:  plans.KnobValue{Command: []string{"./other"}}, want: "Pass it on",
		},
	} {
		p := &plans.Plan{Dir: dir, Knobs: []*plans.Knob{{Values: []*plans.KnobValue{&c.value}}}}
		found := portNotTaken(p, c.engine)
		if (len(found) == 1) != (c.want != "") || len(found) > 0 && !strings.Contains(found[0].Detail, c.want) {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
}
