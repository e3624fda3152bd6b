package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine"
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

// scriptOf is the text of the script that a command runs, without its comments,
// and its name; empty where the command runs none that can be read as text.
func scriptOf(words []string) (name, text string) {
	for i, w := range words[:min(len(words), 4)] {
		path := w
		if i == 0 && filepath.Base(w) == w {
			found, err := exec.LookPath(w)
			if err != nil {
				continue
			}
			path = found
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(f, 1<<20))
		f.Close()
		if err != nil || bytes.IndexByte(data, 0) >= 0 || i == 0 && !bytes.HasPrefix(data, []byte("#!")) {
			continue
		}
		return w, scriptComment.ReplaceAllString(string(data), "")
	}
	return "", ""
}

var scriptComment = regexp.MustCompile(`(?m)^\s*#.*$`)

// How a script is told its port, and where it says a fixed one.
var (
	takesPort = regexp.MustCompile(`\$\{?PORT\b`)
	setsPort  = regexp.MustCompile(`(?m)^\s*(?:export\s+)?PORT=["']?(\d{2,5})\b`)
	fixedPort = regexp.MustCompile(`--port[ =]["']?(\d{2,5})\b`)
)

// listening is how an arm's server gets its port.
type listening struct {
	// told is set where the command takes the port that it is given.
	told bool
	// env and args are added to the command so that it does.
	env  string
	args []string
	// port is where it listens whatever it is told, and why says who says so.
	port int
	why  string
}

// listensAt finds out how an arm's server gets its port, from its words and the
// script that they run.
func listensAt(arm abArm) (listening, error) {
	all := strings.Join(arm.Words, "\n")
	for _, v := range arm.Env {
		all += "\n" + v
	}
	name, script := scriptOf(arm.Words)
	line := strings.Join(arm.Words, " ")
	switch {
	case strings.Contains(all, "{port}"), strings.Contains(all, "MXFLOW_PORT"), strings.Contains(script, "MXFLOW_PORT"):
		return listening{told: true}, nil
	case fixedPort.MatchString(line):
		return fixedAt(fixedPort.FindStringSubmatch(line)[1], "its command says --port"), nil
	case startedKind(line) != "" && startedKind(line) != "transformers":
		return listening{told: true, args: []string{"--port", "{port}"}}, nil
	case setsPort.MatchString(script):
		return fixedAt(setsPort.FindStringSubmatch(script)[1], name+" says so"), nil
	case takesPort.MatchString(script):
		return listening{told: true, env: "PORT"}, nil
	case fixedPort.MatchString(script):
		return fixedAt(fixedPort.FindStringSubmatch(script)[1], name+" says so"), nil
	}
	if kind := startedKind(script); kind != "" {
		k, _ := engine.LookupKind(kind)
		if k.Port > 0 {
			return fixedAt(strconv.Itoa(k.Port), name+" starts "+kind+", whose usual port it is"), nil
		}
	}
	if _, err := exec.LookPath(arm.Words[0]); errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return listening{}, fmt.Errorf("--%s: there is no program %s here, so nothing can be read of the port it would listen on: correct its name, or the folder you are in", arm.Flag, arm.Words[0])
	}
	return listening{}, fmt.Errorf(`nothing says on which port the server of --%s listens. Either let it take the port that mxflow chooses, which is {port} in the command (--%s %s, or PORT={port} before it) and $MXFLOW_PORT in a script; or say where it always listens: --url http://localhost:8000`,
		arm.Flag, arm.Flag, shellQuote(arm.Text+" --port {port}"))
}

func fixedAt(digits, why string) listening {
	port, err := strconv.Atoi(digits)
	if err != nil || port < 1 || port > 65535 {
		return listening{told: true} // its server will say what is wrong with that
	}
	return listening{port: port, why: why}
}

// settlePorts has both arms listen where mxflow asks them: at one fixed port, or
// at the one that each launch is given. It returns the fixed one, or 0.
func settlePorts(arms *[2]abArm, fixed int) (port int, args []string, note string, err error) {
	if fixed != 0 {
		return fixed, nil, "", nil
	}
	var found [2]listening
	for i, arm := range arms {
		if found[i], err = listensAt(arm); err != nil {
			return 0, nil, "", err
		}
	}
	a, b := found[0], found[1]
	if a.port != 0 && b.port != 0 && a.port != b.port {
		return 0, nil, "", fmt.Errorf("the server of --a listens on port %d and that of --b on %d: let both take {port}, or the same port; only one of them runs at a time", a.port, b.port)
	}
	for i, l := range found {
		if l.env != "" {
			if _, set := arms[i].Env[l.env]; !set {
				arms[i].Env[l.env] = "{port}"
			}
		}
		if l.port != 0 {
			port, note = l.port, fmt.Sprintf("port %d: %s; --url says otherwise", l.port, l.why)
		}
	}
	switch {
	case len(a.args) > 0 && len(b.args) > 0:
		args = a.args
	case len(a.args) > 0:
		arms[0].Words = append(arms[0].Words, a.args...)
	case len(b.args) > 0:
		arms[1].Words = append(arms[1].Words, b.args...)
	}
	return port, args, note, nil
}

// kindOf is the kind of both servers: the one that is asked for, or what their
// commands and scripts show; openai, of which nothing is expected but the API,
// where they show none or two.
func kindOf(asked string, arms [2]abArm) (engine.Kind, error) {
	if asked != "" {
		k, ok := engine.LookupKind(asked)
		if !ok || k.Name == "command" {
			return k, fmt.Errorf("--kind: there is no kind of server %q: see mxflow engine kinds", asked)
		}
		return k, nil
	}
	found := ""
	for i, arm := range arms {
		_, script := scriptOf(arm.Words)
		kind := startedKind(strings.Join(arm.Words, " ") + "\n" + script)
		if i > 0 && kind != found {
			kind = ""
		}
		found = kind
	}
	if found == "" {
		found = "openai"
	}
	k, _ := engine.LookupKind(found)
	return k, nil
}
