package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine"
)

// dockerWords is the docker command for a daemon.
func dockerWords(host, context string) []word {
	words := []word{literal("docker")}
	if host != "" {
		words = append(words, literal("--host"), literal(host))
	}
	if context != "" {
		words = append(words, literal("--context"), literal(context))
	}
	return words
}

// listens is where an engine listens in its container: 0 where it shares its
// machine's network and takes the port from a variable, or is no server.
func (s *script) listens(declared int) int {
	switch {
	case declared != 0:
		return declared
	case s.kind.Port != 0:
		return s.kind.Port
	case s.asksPort():
		return 8000 // as a launch does
	}
	return 0
}

func (s *script) asksPort() bool {
	texts := slices.Concat(s.spec.Command, slices.Collect(maps.Values(s.spec.Env)))
	return strings.Contains(strings.Join(texts, "\x00"), "{port}")
}

// dockerRun is the docker run that a launch amounts to.
func (s *script) dockerRun() []word {
	d := s.spec.Docker
	argv := dockerWords(d.Host, d.Context)
	add := func(flag string, value word) { argv = append(argv, literal(flag), value) }
	text := func(flag, value string) {
		if value != "" {
			add(flag, literal(value))
		}
	}
	argv = append(argv, literal("run"), literal("--rm"), literal("--init"))
	text("--pull", d.Pull)
	s.gpus(&argv)
	text("--ipc", d.IPC)
	text("--shm-size", d.ShmSize)
	for _, name := range slices.Sorted(maps.Keys(d.Ulimits)) {
		text("--ulimit", name+"="+d.Ulimits[name])
	}
	text("--network", d.Network)
	text("--user", d.User)
	s.fixed = map[string]string{"{config}": "/etc/mxflow/" + s.spec.ConfigName}
	inside := s.listens(d.Port)
	if d.Network != "host" && inside != 0 {
		s.fixed["{port}"] = strconv.Itoa(inside)
		w := append(literal("127.0.0.1:"), s.noted(word{{variable: "MXFLOW_PORT"}})...)
		add("--publish", w.then(piece{text: fmt.Sprintf(":%d", inside)}))
	}
	for _, source := range slices.Sorted(maps.Keys(d.Volumes)) {
		add("--volume", s.setting(source+":"+d.Volumes[source], "", "a volume"))
	}
	workdir := d.WorkDir
	if src := s.spec.Source; src != nil {
		mount := sourceMount(src)
		s.fixed["{source}"] = mount
		add("--volume", s.noted(word{{variable: "MXFLOW_SOURCE"}}).then(piece{text: ":" + mount}))
		if workdir == "" {
			workdir = mount
		}
	}
	if workdir != "" {
		add("--workdir", s.setting(workdir, "", "workdir"))
	}
	if len(s.spec.Config) > 0 {
		add("--volume", s.configFile().then(piece{text: ":/etc/mxflow/" + s.spec.ConfigName + ":ro"}))
	}
	argv = append(argv, s.containerEnv()...)
	entry := s.words(d.Entrypoint, "entrypoint")
	if d.Entrypoint != nil && len(entry) == 0 {
		add("--entrypoint", literal(""))
	} else if len(entry) > 0 {
		add("--entrypoint", entry[0])
		entry = entry[1:]
	}
	argv = append(argv, s.setting(d.Image, "", "the image"))
	return slices.Concat(argv, entry, s.words(s.spec.Command, "argument"))
}

// sourceMount is where a container of its own sees the working tree.
func sourceMount(src *engine.Source) string {
	if src.Mount != "" {
		return src.Mount
	}
	return "/workspace/" + src.Repo[1+strings.LastIndexByte(src.Repo, '/'):]
}

// configFile is the configuration file on this machine, where {config} within it
// and the command are the container's.
func (s *script) configFile() word { return s.noted(word{{variable: "MXFLOW_CONFIG"}}) }

func (s *script) gpus(argv *[]word) {
	value := ""
	switch v := s.spec.Docker.GPUs.(type) {
	case nil:
		return
	case []any:
		ids := make([]string, len(v))
		for i, id := range v {
			ids[i] = fmt.Sprint(id)
		}
		if len(ids) == 0 {
			return
		}
		// The value is a line of CSV, so that a list needs quotes of its own.
		value = `"device=` + strings.Join(ids, ",") + `"`
	default:
		if value = fmt.Sprint(v); value == "0" {
			return
		}
	}
	*argv = append(*argv, literal("--gpus"), literal(value))
}

// containerEnv are the --env flags. A name without a value takes the shell's, and
// without that takes away what the image sets: so sensitive values stay out of
// the command line, and unset ones are unset.
func (s *script) containerEnv() (argv []word) {
	for _, name := range s.spec.Unset {
		if _, set := s.spec.Env[name]; !set {
			if shellName.MatchString(name) {
				s.exports = append(s.exports, "unset "+name)
			}
			argv = append(argv, literal("--env"), literal(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.spec.Env)) {
		if !shellName.MatchString(name) {
			value := s.setting(s.spec.Env[name], "", "the variable "+name)
			argv = append(argv, literal("--env"), append(literal(name+"="), value...))
			continue
		}
		value := s.variable(name)
		if value == nil {
			s.exports = append(s.exports, "export "+name)
			argv = append(argv, literal("--env"), literal(name))
			continue
		}
		argv = append(argv, literal("--env"), append(literal(name+"="), value...))
	}
	return argv
}
