package main

import (
	"os"
	"strings"
	"testing"
)

// A server is told its port, or its command says where it listens; its kind shows
// in the command or in the script that it runs.
func TestListening(t *testing.T) {
	t.Chdir(t.TempDir())
	script := func(name, text string) {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("told.sh", "exec vllm serve m --port $MXFLOW_PORT\n")
	script("silent.sh", "# vllm serve is not it\nexec ./server\n")
	for _, c := range []struct {
		a, b  string
		fixed int
		// port is the fixed one, args what both get; a and b end so with theirs.
		port      int
		args      bool
		endsA     string
		environed bool
		says      string
	}{
		{"./told.sh", "K=1 ./told.sh", 0, 0, false, "", true, ""},
		{"./server -p {port}", "K=1 ./server -p {port}", 0, 0, false, "", false, ""},
		{"PORT=1 ./silent.sh", "./silent.sh", 0, 0, false, "", false, ""},
		{"sh -c 'exec ./server -p $MXFLOW_PORT'", "./told.sh", 0, 0, false, "", true, ""},
		{"vllm serve m", "K=1 vllm serve m", 0, 0, true, "", false, ""},
		{"python -m sglang.launch_server --model m", "./told.sh", 0, 0, false, "--port {port}", false, ""},
		{"vllm serve m --port 8001", "K=1 vllm serve m --port=8001", 0, 8001, false, "", false, ""},
		{"vllm serve m --port 8001", "./told.sh", 0, 8001, false, "", false, ""},
		{"vllm serve m --port 9000", "vllm serve m --port 8000", 0, 0, false, "", false, "port 9000 and that of --b on 8000"},
		{"./silent.sh", "vllm serve m --port 8001", 7000, 7000, false, "", false, ""},
	} {
		a, errA := parseArm("a", c.a)
		b, errB := parseArm("b", c.b)
		arms := [2]abArm{a, b}
		port, args, err := settlePorts(&arms, c.fixed)
		if errA != nil || errB != nil || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s / %s: %v, want %q", c.a, c.b, err, c.says)
		}
		if port != c.port || (args != nil) != c.args || !strings.HasSuffix(strings.Join(arms[0].Words, " "), c.endsA) || (arms[0].Env["PORT"] == "{port}") != c.environed {
			t.Errorf("%s / %s: port %d, args %q, %+v", c.a, c.b, port, args, arms[0])
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
}
