package variant

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans"
)

func TestPortNotTaken(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"fixed.py": "PORT = 8000\nserve(PORT)\n",
		"env.py":   "serve(int(os.environ[\"MXFLOW_PORT\"]))\n",
		"serve.sh": "exec ./server --port ${MXFLOW_PORT}\n",
		"other.sh": "exec ./server --port $MXFLOW_PORTS\n",
	} {
		try.Write(t, filepath.Join(dir, name), text)
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
		"default port":      {engine: process("python3", "fixed.py"), want: "port = 8000"},
		"named port":        {engine: process("./server", "--port", "9123"), want: "Write {port} in place of 9123, or add to its process block: ‹port = 9123›"},
		"another variable":  {engine: process("sh", "other.sh"), want: "nor $MXFLOW_PORT is in its command"},
		"placeholder":       {engine: process("./server", "--port={port}")},
		"in the shell":      {engine: process("sh", "-c", "./server -p $MXFLOW_PORT")},
		"script":            {engine: process("sh", "serve.sh")},
		"Python":            {engine: process("python3", "env.py")},
		"its worktree":      {engine: process("{source.v}/serve.sh")},
		"fixed in worktree": {engine: process("{source.v}/serve.sh", "--port", "9123"), want: "in place of 9123"},
		"args":              {engine: with(process("./server"), func(e *plans.Engine) { e.Args = []string{"{port}"} })},
		"environment":       {engine: with(process("./server"), func(e *plans.Engine) { e.Env = map[string]string{"AT": "0.0.0.0:{port}"} })},
		"settings":          {engine: with(process("./server"), func(e *plans.Engine) { e.Settings = map[string]any{"port": "{port}"} })},
		"declared":          {engine: with(process("./server"), func(e *plans.Engine) { e.Process.Port = 8000 })},
		"own command":       {engine: &plans.Engine{Kind: "vllm"}},
		"container":         {engine: &plans.Engine{Kind: "openai", Launch: &plans.Block{Kind: "docker"}}},
		"no server":         {engine: with(process("./bench"), func(e *plans.Engine) { e.Kind = "command" })},
		"kind's variable":   {engine: with(process("ollama", "serve"), func(e *plans.Engine) { e.Kind = "ollama" })},
		"knob's args":       {engine: process("./server"), value: plans.KnobValue{Args: []string{"--port", "{port}"}}},
		"knob's variable":   {engine: process("./server"), value: plans.KnobValue{Env: map[string]*string{"AT": &value}}},
		"knob's command":    {engine: process("./server", "{port}"), value: plans.KnobValue{Command: []string{"./other"}}, want: "Pass it on"},
	} {
		p := &plans.Plan{Dir: dir, Knobs: []*plans.Knob{{Values: []*plans.KnobValue{&c.value}}}}
		found := portNotTaken(p, c.engine)
		if (len(found) == 1) != (c.want != "") || len(found) > 0 && !strings.Contains(found[0].Detail, c.want) {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
}
