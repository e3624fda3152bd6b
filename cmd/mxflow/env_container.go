package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// dockerExec is the engine as a command in a container that runs already. The
// container's own variables are taken away by env, which docker exec cannot.
func (s *script) dockerExec() []word {
	x := s.spec.Exec
	argv := append(dockerWords(x.Host, x.Context), literal("exec"))
	if x.User != "" {
		argv = append(argv, literal("--user"), s.setting(x.User, "", "user"))
	}
	workdir := x.WorkDir
	s.fixed = map[string]string{}
	if src := s.spec.Source; src != nil && src.Mount != "" {
		s.notes = append(s.notes, "MXFLOW_SOURCE is the working tree where the container sees it, below "+src.Mount+".")
		if workdir == "" {
			workdir = "{source}"
		}
	}
	if workdir != "" {
		argv = append(argv, literal("--workdir"), s.setting(workdir, "", "workdir"))
	}
	if x.Port != 0 {
		s.fixed["{port}"] = strconv.Itoa(x.Port)
	}
	if len(s.spec.Config) > 0 {
		inside := "/tmp/mxflow-" + s.spec.ConfigName
		file := s.configFile()
		s.fixed["{config}"] = inside
		copied := append(dockerWords(x.Host, x.Context), literal("cp"), file, literal(x.Container+":"+inside))
		s.setup = append(s.setup, commandText(copied))
	}
	unset := s.spec.Unset
	s.spec.Unset = nil
	argv = append(argv, s.containerEnv()...)
	s.spec.Unset = unset
	argv = append(argv, literal(x.Container))
	taken := []word{literal("env")}
	for _, name := range unset {
		if _, set := s.spec.Env[name]; !set {
			taken = append(taken, literal("-u"), literal(name))
		}
	}
	if len(taken) > 1 {
		argv = append(argv, taken...)
	}
	return append(argv, s.words(s.spec.Command, "argument")...)
}

// composeRun is the service as compose runs it once. What flags of compose run
// cannot say stands in a file that is laid over the plan's.
func (s *script) composeRun() []word {
	c := s.spec.Compose
	argv := append(dockerWords(c.Host, c.Context), literal("compose"), literal("--file"), literal(c.File))
	if over := s.override(); over != "" {
		s.setup = append(s.setup, `MXFLOW_OVERRIDE="$(mktemp -d)"/override.yaml`, "printf %s "+shellQuoted(over)+` >"$MXFLOW_OVERRIDE"`)
		argv = append(argv, literal("--file"), word{{variable: "MXFLOW_OVERRIDE"}})
	}
	for _, p := range c.Profiles {
		argv = append(argv, literal("--profile"), literal(p))
	}
	argv = append(argv, literal("run"), literal("--rm"))
	s.fixed = map[string]string{"{config}": "/etc/mxflow/" + s.spec.ConfigName}
	if inside := s.listens(c.Port); inside != 0 {
		s.fixed["{port}"] = strconv.Itoa(inside)
		w := append(literal("127.0.0.1:"), s.noted(word{{variable: "MXFLOW_PORT"}})...)
		argv = append(argv, literal("--publish"), w.then(piece{text: fmt.Sprintf(":%d", inside)}))
	}
	if len(s.spec.Config) > 0 {
		argv = append(argv, literal("--volume"), s.configFile().then(piece{text: ":/etc/mxflow/" + s.spec.ConfigName + ":ro"}))
	}
	argv = append(argv, s.containerEnv()...)
	argv = append(argv, literal(c.Service))
	words := s.words(s.spec.Command, "argument")
	if len(words) > 0 && len(c.Command) == 0 {
		// Flags go behind the service's own command, which only compose knows.
		s.require("MXFLOW_SERVICE_COMMAND", "set it to the command that the service "+c.Service+" has in the compose file or its image; the flags of the plan go behind it")
		argv = append(argv, word{{variable: "MXFLOW_SERVICE_COMMAND", splits: true}})
	}
	return slices.Concat(argv, words)
}

// override is what is laid over the compose file: the image, and the variables
// that are taken away. JSON texts are YAML too; compose reads $$ as $.
func (s *script) override() string {
	c := s.spec.Compose
	text := func(v string) string { return strconv.Quote(strings.ReplaceAll(v, "$", "$$")) }
	var b strings.Builder
	if c.Image != "" {
		fmt.Fprintf(&b, "    image: %s\n", text(c.Image))
	}
	unset := ""
	for _, name := range s.spec.Unset {
		if _, set := s.spec.Env[name]; !set {
			unset += fmt.Sprintf("      %s: null\n", text(name))
		}
	}
	if unset != "" {
		b.WriteString("    environment:\n" + unset)
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("services:\n  %s:\n%s", text(c.Service), b.String())
}
