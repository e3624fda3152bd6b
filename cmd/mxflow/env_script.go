package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/steps"
)

// script is a shell script that reproduces a variant, while it is written.
type script struct {
	*recipe
	// secrets takes out what is sensitive; nil where it is written out.
	secrets *redact.Redactor
	// fixed is what stands for a placeholder where that is no variable.
	fixed map[string]string
	// setup and then exports come before the command. direct are variables whose
	// names a shell cannot export, as words of env.
	setup, exports []string
	direct         []word
	used           map[string]bool
	hidden         int
}

// shellName is what a shell takes for the name of a variable.
var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// setting is a text of the plan as a word. Where it is sensitive it becomes a
// variable, without which the script ends: better than a start with a wrong key.
func (s *script) setting(text, variable, what string) word {
	if !s.hides(text) {
		return s.noted(filled(text, s.fixed))
	}
	if variable == "" {
		s.hidden++
		variable = fmt.Sprintf("MXFLOW_SECRET_%d", s.hidden)
	}
	s.require(variable, what+" is sensitive and is not written here; set "+variable+", or write this script with --show-secrets")
	return word{{variable: variable}}
}

// noted puts in front what the variables of a word need.
func (s *script) noted(w word) word {
	for _, p := range w {
		if p.variable != "" && !s.used[p.variable] {
			s.used[p.variable] = true
			s.provide(p.variable)
		}
	}
	return w
}

func (s *script) require(variable, why string) {
	if !s.used[variable] {
		s.used[variable] = true
		// The text stands within double quotes and a parameter expansion.
		why = strings.Map(func(r rune) rune {
			if strings.ContainsRune("\"\\$`{}'\n", r) {
				return ' '
			}
			return r
		}, why)
		s.setup = append(s.setup, fmt.Sprintf(`: "${%s:?%s}"`, variable, why))
	}
}

// provide makes the variable that stands for a placeholder.
func (s *script) provide(variable string) {
	switch variable {
	case "MXFLOW_PORT":
		s.setup = append(s.setup, fmt.Sprintf(`MXFLOW_PORT="${MXFLOW_PORT:-%d}"`, s.port()), "export MXFLOW_PORT")
	case "MXFLOW_PROGRAM":
		s.setup = append(s.setup, `MXFLOW_PROGRAM="${MXFLOW_PROGRAM:-mxflow}"`)
	case "MXFLOW_SOURCE":
		s.used[variable] = false // require notes it
		s.require(variable, "name the folder of the working tree that the comments above describe")
	case "MXFLOW_CONFIG":
		if s.hides(string(s.spec.Config)) {
			s.used[variable] = false
			s.require(variable, "the configuration file "+s.spec.ConfigName+" holds sensitive values and is not written here; name a file, or write this script with --show-secrets")
			return
		}
		// A launch puts nothing into it but the working tree's path.
		as := map[string]string{"{port}": "{port}", "{config}": "{config}", "{mxflow}": "{mxflow}"}
		if dir, ok := s.fixed["{source}"]; ok {
			as["{source}"] = dir
		}
		content := s.noted(filled(string(s.spec.Config), as))
		s.setup = append(s.setup,
			`MXFLOW_CONFIG="$(mktemp -d)"/`+shellQuoted(s.spec.ConfigName),
			"printf %s "+content.String()+` >"$MXFLOW_CONFIG"`)
	}
}

// hides reports whether a text has something sensitive in it.
func (s *script) hides(text string) bool { return s.secrets.Text(text) != text }

// port is where the engine listens if nobody says otherwise.
func (s *script) port() int {
	if s.kind.Port != 0 {
		return s.kind.Port
	}
	return 8000
}

// environment exports what the plan sets and unsets the rest.
func (s *script) environment() {
	for _, name := range s.spec.Unset {
		if _, set := s.spec.Env[name]; set {
			continue
		}
		if shellName.MatchString(name) {
			s.exports = append(s.exports, "unset "+name)
		} else {
			s.direct = append(s.direct, literal("-u"), literal(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.spec.Env)) {
		if !shellName.MatchString(name) {
			value := s.setting(s.spec.Env[name], "", "the variable "+name)
			s.direct = append(s.direct, append(literal(name+"="), value...))
			continue
		}
		value := s.variable(name)
		if value == nil {
			s.exports = append(s.exports, "export "+name)
		} else {
			s.exports = append(s.exports, "export "+name+"="+value.String())
		}
	}
}

// variable is the value of a variable; nil where it is sensitive and has to be
// set already.
func (s *script) variable(name string) word {
	value := s.spec.Env[name]
	if s.shows || !steps.SecretName(name) && !s.hides(value) {
		return s.setting(value, name, "the variable "+name)
	}
	s.require(name, "its value is sensitive and is not written here; set it, or write this script with --show-secrets")
	return nil
}

// write is the whole script.
func (s *script) write(envOnly bool) string {
	s.used = map[string]bool{}
	command := s.command()
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, line := range s.comments() {
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	for _, line := range slices.Concat(s.setup, s.exports) {
		b.WriteString(line + "\n")
	}
	if command != "" && !envOnly {
		b.WriteString(command + "\n")
	}
	return b.String()
}

// commandText puts each flag of a long command on a line of its own, and what
// comes behind the flags.
func commandText(words []word) string {
	var line strings.Builder
	long, behind := 0, 0
	for _, w := range words {
		long += len(w.String()) + 1
	}
	for i, w := range words {
		text := w.String()
		flag := strings.HasPrefix(text, "-")
		switch {
		case flag:
			behind = 1
		case behind > 0:
			behind++
		}
		switch {
		case i == 0:
		case long > 100 && (flag || behind == 3):
			line.WriteString(" \\\n    ")
		default:
			line.WriteString(" ")
		}
		line.WriteString(text)
	}
	return line.String()
}
