package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
)

// command is how the variant is started, with what has to be set before in
// s.setup; empty where somebody else starts it.
func (s *script) command() string {
	switch s.spec.How() {
	case engine.HowDocker:
		return inSubshell(nil, s.dockerRun())
	case engine.HowCompose:
		return inSubshell(nil, s.composeRun())
	case engine.HowExec:
		return inSubshell(nil, s.dockerExec())
	case engine.HowEndpoint:
		return s.endpoint()
	}
	return s.process()
}

// inSubshell runs a command in the folder, so that whoever sources the script
// stays where they are.
func inSubshell(dir word, argv []word) string {
	if len(argv) == 0 {
		return ""
	}
	cd := ""
	if dir != nil {
		cd = "cd " + dir.String() + " &&\n  "
	}
	return "(\n  " + cd + "exec " + commandText(argv) + "\n)"
}

func (s *script) process() string {
	if len(s.kind.Ready) > 0 {
		s.noted(word{{variable: "MXFLOW_PORT"}}) // a server finds it in its environment too
	}
	s.environment()
	var dir word
	if folder := s.spec.Dir; folder != "" {
		if abs, err := filepath.Abs(folder); err == nil && !strings.HasPrefix(folder, "{source}") {
			folder = abs // the script may be run from anywhere
		}
		dir = s.setting(folder, "", "the folder to start in")
	}
	return inSubshell(dir, s.withDirect(s.words(s.spec.Command, "argument")))
}

// withDirect puts env in front of a command for the variables that a shell cannot
// export.
func (s *script) withDirect(argv []word) []word {
	if len(argv) == 0 || len(s.direct) == 0 {
		return argv
	}
	return slices.Concat([]word{literal("env")}, s.direct, argv)
}

// words are the arguments of a command.
func (s *script) words(argv []string, what string) (words []word) {
	for i, arg := range argv {
		words = append(words, s.setting(arg, "", fmt.Sprintf("%s %d of the command", what, i)))
	}
	return words
}

// endpoint asks the server for its models, which shows that it is there; it was
// started by somebody else.
func (s *script) endpoint() string {
	e := s.spec.Endpoint
	if len(e.Restart) > 0 {
		s.environment()
		return inSubshell(nil, s.withDirect(s.words(e.Restart, "argument")))
	}
	return ""
}
