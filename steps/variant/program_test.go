package variant

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o755))
}

// A step may build the program anew, or for the first time, while mxflow runs.
func TestProgramIsSeenAnew(t *testing.T) {
	dir := t.TempDir()
	l := &Resolver{Plan: &plans.Plan{Dir: dir}}
	spec := engine.Spec{Kind: "openai", Command: []string{"./serve"}, Dir: dir}
	absent := l.variantKey(t.Context(), spec)
	write(t, filepath.Join(dir, "serve"), "one")
	first := l.variantKey(t.Context(), spec)
	write(t, filepath.Join(dir, "serve"), "another")
	second := l.variantKey(t.Context(), spec)
	if absent == first || first == second || second != l.variantKey(t.Context(), spec) {
		t.Errorf("absent %s, first %s, second %s", absent, first, second)
	}
}

// What pip installs changes what a program of Python does, and not its file.
func TestProgramHasPackages(t *testing.T) {
	dir := t.TempDir()
	python := filepath.Join(dir, "venv", "bin", "python3")
	write(t, python, "")
	write(t, filepath.Join(dir, "venv", "bin", "vllm"), "#!"+python+"\nimport vllm\n")
	packages := filepath.Join(dir, "venv", "lib", "python3.12", "site-packages")
	old := filepath.Join(packages, "vllm-0.1.dist-info")
	write(t, filepath.Join(old, "METADATA"), "")
	for name, command := range map[string][]string{
		"a script": {filepath.Join(dir, "venv", "bin", "vllm"), "serve"}, "an interpreter": {python, "-m", "vllm"},
	} {
		key := func(accepted ...string) string {
			spec := engine.Spec{Kind: "vllm", Command: command, Dir: dir}
			l := &Resolver{Plan: &plans.Plan{Dir: dir, Baseline: &plans.Baseline{AcceptFingerprint: accepted}}}
			l.identify(&draft{engine: &plans.Engine{}}, &spec)
			return l.variantKey(t.Context(), spec)
		}
		before, free := key(), key("packages")
		upgraded := filepath.Join(packages, "vllm-0.2.dist-info")
		must.Do(t, os.Rename(old, upgraded))
		if key() == before {
			t.Errorf("%s: an upgrade does not show in the key", name)
		}
		must.Equal(t, name, key("packages"), free)
		must.Do(t, os.Rename(upgraded, old))
		must.Equal(t, name, key(), before)
	}
}

// A key that is replaced opens the same server; another address is another one.
func TestEndpointKeyIsNoMeasurement(t *testing.T) {
	l := &Resolver{Plan: &plans.Plan{}}
	key := func(e engine.Endpoint) string {
		return l.variantKey(t.Context(), engine.Spec{Kind: "openai", Endpoint: &e})
	}
	one := key(engine.Endpoint{URL: "http://a:1", APIKey: "x"})
	if key(engine.Endpoint{URL: "http://a:1", APIKey: "y"}) != one {
		t.Error("a new key is measured anew")
	}
	if key(engine.Endpoint{URL: "http://b:1", APIKey: "x"}) == one ||
		key(engine.Endpoint{URL: "http://a:1", Headers: map[string]string{"x": "y"}}) == one {
		t.Error("another server has the same key")
	}
}

func TestPythonOf(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"vllm": "#!/venv/bin/python3.12\nimport sys", "env": "#!/usr/bin/env python3\n",
		"long":  "#!/bin/sh\n'''exec' \"/a very long/x/python\" \"$0\"\n",
		"long2": "#!/bin/sh\n'''exec' /long/x/python3 \"$0\" \"$@\"\n", "shell": "#!/bin/sh\npython3 x\n",
		"binary": "\x7fELF python ", "empty": "",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	t.Setenv("PATH", dir)
	for command, want := range map[string]string{
		"vllm serve": "/venv/bin/python3.12", "./vllm serve": "/venv/bin/python3.12", "env": "python3",
		"long2": "/long/x/python3",
		"shell": "", "binary": "", "empty": "", "gone": "", "": "",
		"/x/python3.11 -m vllm": "/x/python3.11", "uv run vllm serve": "uv run --no-sync python", "uv pip": "",
	} {
		spec := engine.Spec{Kind: "openai", Command: strings.Fields(command), Dir: dir}
		if got := strings.Join(PythonOf(spec), " "); got != want || IsPython(spec) != (want != "") {
			t.Errorf("%q: %q, %v", command, got, IsPython(spec))
		}
	}
	for kind, want := range map[string]bool{"vllm": true, "embedded": false, "llamacpp": false} {
		if IsPython(engine.Spec{Kind: kind, Command: []string{"vllm"}, Dir: dir}) != want {
			t.Errorf("%s: %v", kind, !want)
		}
	}
	if IsPython(engine.Spec{Kind: "vllm", Endpoint: &engine.Endpoint{}}) {
		t.Error("an endpoint's packages are asked for")
	}
}

func TestModelConfig(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "m", "config.json"), `{"model_type": "llama"}`)
	write(t, filepath.Join(dir, "m", "broken.json"), `{"model_type": `)
	l := &Resolver{Plan: &plans.Plan{Dir: dir}}
	read := func(name any) (string, error) {
		e := &plans.Engine{
			Kind: "openai", Name: "e",
			Parts: map[string][]*plans.Block{"metadata": {{Attrs: map[string]any{"model_config": name}}}},
		}
		text, _, err := l.modelConfig(e)
		return string(text), err
	}
	if text, err := read("m/config.json"); text == "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := read(""); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for name, want := range map[string]string{
		"m/none.json": "unreadable", "m": "not a file of at most",
		"m/broken.json": "not JSON",
	} {
		if _, err := read(name); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "model_config of engine.openai.e") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
