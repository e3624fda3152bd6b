package main

import (
	"os"
	"strings"
	"testing"
)

// A server is told its port, or says itself where it listens.
func TestListening(t *testing.T) {
	t.Chdir(t.TempDir())
	script := func(name, text string) {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("told.sh", "exec vllm serve m --port $MXFLOW_PORT\n")
	script("env.sh", "exec vllm serve m --port ${PORT:-8000}\n")
	script("sets.sh", "PORT=8123\nexec vllm serve m --port $PORT\n")
	script("fixed.sh", "# --port 1 is not it\nexec vllm serve m --port=9000\n")
	script("usual.sh", "exec vllm serve m\n")
	script("silent.sh", "exec ./server\n")
	for _, c := range []struct {
		text string
		want listening
		says string
	}{
		{"./told.sh", listening{told: true}, ""},
		{"./env.sh", listening{told: true, env: "PORT"}, ""},
		{"./sets.sh", listening{port: 8123}, ""},
		{"./fixed.sh", listening{port: 9000}, ""},
		{"bash ./fixed.sh", listening{port: 9000}, ""},
		{"./usual.sh", listening{port: 8000}, ""},
		{"./silent.sh", listening{}, "--url http://localhost:8000"},
		{"PORT={port} ./silent.sh", listening{told: true}, ""},
		{"./server --listen 127.0.0.1:{port}", listening{told: true}, ""},
		{"sh -c 'exec ./server -p $MXFLOW_PORT'", listening{told: true}, ""},
		{"vllm serve m", listening{told: true, args: []string{"--port", "{port}"}}, ""},
		{"python -m sglang.launch_server --model m", listening{told: true, args: []string{"--port", "{port}"}}, ""},
		{"vllm serve m --port 8001", listening{port: 8001}, ""},
		{"./nobody", listening{}, "there is no program ./nobody here"},
		{"nobody-has-this serve", listening{}, "there is no program nobody-has-this here"},
	} {
		arm, err := parseArm("a", c.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := listensAt(arm)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", c.text, err, c.says)
			}
			continue
		}
		if err != nil || got.told != c.want.told || got.port != c.want.port || got.env != c.want.env || strings.Join(got.args, " ") != strings.Join(c.want.args, " ") {
			t.Errorf("%s: %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
	kinds := map[[2]string]string{
		{"./told.sh", "K=1 ./told.sh"}: "vllm", {"./silent.sh", "K=1 ./silent.sh"}: "openai", {"vllm serve m", "sglang serve m"}: "openai",
		{"llama-server -m a.gguf", "x/llama-server -m a.gguf"}: "llamacpp", {"mxflow engine serve", "K=1 mxflow engine serve"}: "embedded",
	}
	for texts, want := range kinds {
		a, _ := parseArm("a", texts[0])
		b, _ := parseArm("b", texts[1])
		if k, err := kindOf("", [2]abArm{a, b}); err != nil || k.Name != want {
			t.Errorf("%q: %s, %v; want %s", texts, k.Name, err, want)
		}
	}
	for _, c := range []struct {
		a, b  string
		fixed int
		port  int
		says  string
	}{
		{"./fixed.sh", "K=1 ./fixed.sh", 0, 9000, ""},
		{"./fixed.sh", "./usual.sh", 0, 0, "port 9000 and that of --b on 8000"},
		{"./fixed.sh", "./told.sh", 0, 9000, ""},
		{"./silent.sh", "./fixed.sh", 7000, 7000, ""},
		{"vllm serve m", "./told.sh", 0, 0, ""},
	} {
		a, _ := parseArm("a", c.a)
		b, _ := parseArm("b", c.b)
		arms := [2]abArm{a, b}
		port, _, _, err := settlePorts(&arms, c.fixed)
		if port != c.port || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s / %s: %d, %v; want %d, %q", c.a, c.b, port, err, c.port, c.says)
		}
		if c.a == "vllm serve m" && !strings.HasSuffix(strings.Join(arms[0].Words, " "), "--port {port}") {
			t.Errorf("A is not told its port: %q", arms[0].Words)
		}
	}
}
