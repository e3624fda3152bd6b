package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
)

// serverWords tell kinds of servers by what starts them, in a command or a script.
var serverWords = []struct {
	kind string
	*regexp.Regexp
}{
	{"vllm", regexp.MustCompile(`\bvllm\s+serve\b|\bvllm\.entrypoints\.`)},
	{"sglang", regexp.MustCompile(`\bsglang\.launch_server\b|\bsglang\s+serve\b`)},
	{"llamacpp", regexp.MustCompile(`\bllama-server\b`)},
	{"trtllm", regexp.MustCompile(`\btrtllm-serve\b`)},
	{"transformers", regexp.MustCompile(`\btransformers\s+serve\b`)},
	{"embedded", regexp.MustCompile(`\bmxflow\s+engine\s+serve\b`)},
}

// startedKind is the kind of server that a text starts; empty where none shows.
func startedKind(text string) string {
	for _, s := range serverWords {
		if s.MatchString(text) {
			return s.kind
		}
	}
	return ""
}

// scriptOf is the text of the script that a command runs, itself or through a
// shell, without its comments; empty where it runs none.
func scriptOf(words []string) string {
	for _, w := range words[:min(len(words), 2)] {
		if info, err := os.Stat(w); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		if text, err := os.ReadFile(w); err == nil && bytes.HasPrefix(text, []byte("#!")) {
			return scriptComment.ReplaceAllString(string(text), "")
		}
	}
	return ""
}

var (
	scriptComment = regexp.MustCompile(`(?m)^\s*#.*$`)
	// fixedPort is how a command says that it always listens on one port.
	fixedPort = regexp.MustCompile(`--port[ =](\d{2,5})\b`)
)

// settlePorts has both arms listen where mxflow asks them: at one fixed port, which
// --url or --port in a command says, or at the one that each launch is given: as
// {port} in the command, as $PORT and $MXFLOW_PORT otherwise. args are added to both.
func settlePorts(arms *[2]abArm, fixed int) (port int, args []string, err error) {
	if fixed != 0 {
		return fixed, nil, nil
	}
	var flagged []int
	for i, arm := range arms {
		line := strings.Join(arm.Words, " ")
		switch kind := startedKind(line); {
		case fixedPort.MatchString(line):
			at, err := strconv.Atoi(fixedPort.FindStringSubmatch(line)[1])
			if err != nil || port != 0 && at != port {
				return 0, nil, fmt.Errorf("the server of --a listens on port %d and that of --b on %d: let both take {port}, or the same port; only one of them runs at a time", port, at)
			}
			port = at
		case strings.Contains(line, "{port}"):
		case kind != "" && kind != "transformers":
			flagged = append(flagged, i)
		default:
			if _, set := arm.Env["PORT"]; !set {
				arm.Env["PORT"] = "{port}"
			}
		}
	}
	flag := []string{"--port", "{port}"}
	if len(flagged) == len(arms) {
		return port, flag, nil
	}
	for _, i := range flagged {
		arms[i].Words = append(arms[i].Words, flag...)
	}
	return port, nil, nil
}

// kindOf is the kind of both servers: the one that is asked for, or what their
// commands and scripts show; openai, of which nothing is expected but the API,
// where they show none or two.
func kindOf(asked string, arms [2]abArm) (kinds.Kind, error) {
	if asked != "" {
		k, ok := kinds.Lookup(asked)
		if !ok || k.Name == "command" {
			return k, fmt.Errorf("--kind: there is no kind of server %q: see mxflow engine kinds", asked)
		}
		return k, nil
	}
	found := ""
	for i, arm := range arms {
		kind := startedKind(strings.Join(arm.Words, " ") + "\n" + scriptOf(arm.Words))
		if i > 0 && kind != found {
			kind = ""
		}
		found = kind
	}
	if found == "" {
		found = "openai"
	}
	k, _ := kinds.Lookup(found)
	return k, nil
}
