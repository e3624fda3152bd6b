// Package script finds the knob values of a variant, and writes its start as a script, so
// it can be started again without mxflow. It starts nothing.
package script

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans/redact"
)

// Recipe is a variant and its origin.
type Recipe struct {
	Plan, Variant, Engine string
	// Stack are the features in it, in order; Knobs the value of every knob.
	Stack []string
	Knobs map[string]string
	// Notes are caveats.
	Notes []string
	Spec  engine.Spec
	Kind  kinds.Kind
	// Shows writes sensitive values out.
	Shows bool
}

// script is a shell script while it is written.
type script struct {
	*Recipe
	secrets *redact.Redactor // nil if sensitive values are written out
	setup   []string         // comes before the command
	used    map[string]bool  // variables that setup provides
	hidden  int
}

// Write is the recipe as a shell script, without sensitive values unless it shows them;
// with envOnly it starts nothing.
func (r *Recipe) Write(secrets *redact.Redactor, envOnly bool) (string, error) {
	if r.Shows {
		secrets = nil
	}
	s := &script{Recipe: r, secrets: secrets, used: map[string]bool{}}
	spec, dir := r.Spec, r.Spec.Dir
	c := docker.Command{Argv: spec.Command, Unset: spec.Unset}
	var err error
	switch spec.How() {
	case engine.HowDocker:
		for _, src := range spec.Sources {
			mark := engine.SourceMark(src.Name)
			spec.PutMark(mark, spec.MountSource(src, mark))
		}
		c, err = docker.Reproduce(spec)
	case engine.HowExec:
		c, err = docker.Reproduce(spec)
		if len(spec.Config) > 0 {
			inside := "/tmp/mxflow-" + spec.ConfigName
			s.setup = append(s.setup, "docker cp "+s.word("{config}")+" "+shell.Quote(spec.Exec.Container+":"+inside))
			for i := range c.Argv {
				c.Argv[i] = strings.ReplaceAll(c.Argv[i], "{config}", inside)
			}
		}
		for _, src := range spec.Sources {
			if src.Mount != "" {
				s.Notes = append(s.Notes, sourceVariable(src.Name)+" is the working tree where the container sees it, "+
					"below "+src.Mount+".")
			}
		}
	case engine.HowCompose: // compose sets what the file says
		s.Notes = append(s.Notes, fmt.Sprintf("Its service is %s of %s.", spec.Compose.Service, spec.Compose.File))
		c.Argv = nil
	case engine.HowEndpoint: // it was started by somebody else, and can at most be restarted
		s.Notes = append(s.Notes, "The engine is run outside mxflow, at "+spec.Endpoint.URL+".")
		c.Argv = spec.Endpoint.Restart
	default:
		if len(r.Kind.Ready) > 0 {
			s.provide("MXFLOW_PORT") // a server finds it in its environment too
		}
		if abs, err := filepath.Abs(dir); err == nil && dir != "" && !engine.Marked(dir) {
			dir = abs // the script may be run from anywhere
		}
	}
	if err != nil {
		return "", err
	}
	if spec.Docker == nil && spec.Exec == nil && (c.Argv != nil || spec.Compose != nil) {
		for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
			c.Env = append(c.Env, name+"="+spec.Env[name])
		}
		c.Unset = slices.DeleteFunc(slices.Clone(c.Unset), func(name string) bool { _, set := spec.Env[name]; return set })
	}
	exports, argv := s.environment(c)
	for _, arg := range c.Argv {
		argv = append(argv, s.word(arg))
	}
	start := "exec "
	if spec.How() == engine.HowProcess && dir != "" {
		start = "cd " + s.word(dir) + " &&\n  exec "
	}
	lines := slices.Concat([]string{"#!/bin/sh"}, s.comments(), s.setup, exports)
	if len(c.Argv) > 0 && !envOnly {
		// In a subshell, so sourcing the script does not change the caller's folder.
		lines = append(lines, "(\n  "+start+broken(argv)+"\n)")
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// shellName matches a valid shell variable name.
var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment exports the variables of a command and unsets others. What a shell cannot
// export are the first words of the command.
func (s *script) environment(c docker.Command) (exports, direct []string) {
	for _, name := range c.Unset {
		if shellName.MatchString(name) {
			exports = append(exports, "unset "+name)
		} else {
			direct = append(direct, "-u", shell.Quote(name))
		}
	}
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case !shellName.MatchString(name):
			direct = append(direct, shell.Quote(name+"=")+s.word(value))
		case !s.Shows && (redact.SecretName(name) || s.hides(value)):
			s.require(name, "its value is sensitive and is not written here; set it, or write this script with --show-secrets")
			exports = append(exports, "export "+name)
		default:
			exports = append(exports, "export "+name+"="+s.word(value))
		}
	}
	if len(direct) > 0 {
		direct = append([]string{"env"}, direct...)
	}
	return exports, direct
}

// broken puts each flag of a long command on its own line.
func broken(words []string) string {
	if line := strings.Join(words, " "); len(line) <= 100 {
		return line
	}
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && strings.HasPrefix(w, "-"):
			b.WriteString(" \\\n    ")
		case i > 0:
			b.WriteString(" ")
		}
		b.WriteString(w)
	}
	return b.String()
}

// hides reports whether a text contains anything sensitive.
func (s *script) hides(text string) bool { return s.secrets.Text(text) != text }

// mark matches parts of a text that a launch fills in.
var mark = regexp.MustCompile(`\{(port|config|mxflow|source\.[A-Za-z0-9_]+)\}`)

// variables of the script stand for them.
var variables = map[string]string{"{port}": "MXFLOW_PORT", "{config}": "MXFLOW_CONFIG", "{mxflow}": "MXFLOW_PROGRAM"}

// sourceVariable stands for the working tree of a source.
func sourceVariable(name string) string { return "MXFLOW_SOURCE_" + strings.ToUpper(name) }

// word is a text of the plan as a word of the shell. If it is sensitive it is a variable,
// without which the script ends: better than a start with a wrong key.
func (s *script) word(text string) string {
	if s.hides(text) {
		s.hidden++
		name := fmt.Sprintf("MXFLOW_SECRET_%d", s.hidden)
		s.require(name, "a part of the command is sensitive and is not written here; set "+
			name+", or write this script with --show-secrets")
		return `"$` + name + `"`
	}
	return s.filled(text, mark)
}

// filled quotes a text, with variables in place of marks.
func (s *script) filled(text string, marks *regexp.Regexp) string {
	var b strings.Builder
	done := 0
	for _, at := range marks.FindAllStringIndex(text, -1) {
		if at[0] > done {
			b.WriteString(shell.Quote(text[done:at[0]]))
		}
		variable, ok := variables[text[at[0]:at[1]]]
		if !ok {
			variable = sourceVariable(text[at[0]+len("{source.") : at[1]-1])
		}
		s.provide(variable)
		b.WriteString(`"$` + variable + `"`)
		done = at[1]
	}
	if done < len(text) || text == "" {
		b.WriteString(shell.Quote(text[done:]))
	}
	return b.String()
}

// require ends the script if a variable is not set.
func (s *script) require(variable, why string) {
	if !s.used[variable] {
		s.used[variable] = true
		s.setup = append(s.setup, fmt.Sprintf(`: "${%s:?%s}"`, variable, quotable.Replace(why)))
	}
}

// quotable removes what cannot be within double quotes and a parameter expansion.
var quotable = strings.NewReplacer(`"`, " ", `\`, " ", "$", " ", "`", " ", "{", " ", "}", " ", "'", " ", "\n", " ")

// sources matches what a launch fills in in a configuration file.
var sources = regexp.MustCompile(`\{source\.[A-Za-z0-9_]+\}`)

// provide defines the variable for a mark.
func (s *script) provide(variable string) {
	switch {
	case s.used[variable]:
		return
	case variable == "MXFLOW_PORT":
		port := s.Kind.Port
		if port == 0 {
			port = 8000
		}
		s.setup = append(s.setup, fmt.Sprintf(`MXFLOW_PORT="${MXFLOW_PORT:-%d}"`, port), "export MXFLOW_PORT")
	case variable == "MXFLOW_PROGRAM":
		s.setup = append(s.setup, `MXFLOW_PROGRAM="${MXFLOW_PROGRAM:-mxflow}"`)
	case variable == "MXFLOW_CONFIG" && s.hides(string(s.Spec.Config)):
		s.require(variable, "the configuration file "+s.Spec.ConfigName+" holds sensitive values and is not written "+
			"here; name a file, or write this script with --show-secrets")
	case variable == "MXFLOW_CONFIG":
		content := s.filled(string(s.Spec.Config), sources)
		s.setup = append(s.setup, `MXFLOW_CONFIG="$(mktemp -d)"/`+shell.Quote(s.Spec.ConfigName),
			"printf %s "+content+` >"$MXFLOW_CONFIG"`)
	default:
		s.require(variable, "name the folder of the working tree that the comments above describe")
	}
	s.used[variable] = true
}

// comments are what the script is, and what it rests on that no script can contain.
func (s *script) comments() (out []string) {
	what := s.Variant + " of plan " + s.Plan
	if len(s.Stack) > 0 {
		what += ": baseline + " + strings.Join(s.Stack, " + ")
	}
	lines := []string{what}
	if len(s.Knobs) > 0 {
		lines = append(lines, "knobs: "+verdict.Pairs(s.Knobs, " = ", ", "))
	}
	lines = append(lines, fmt.Sprintf("engine: %s, launched by %s", s.Engine, s.Spec.How()))
	lines = append(lines, s.Notes...)
	for _, src := range s.Spec.Sources {
		if src.Problem != "" {
			lines = append(lines, "source "+src.Name+": "+src.Ref+" of "+src.Repo+", which cannot be resolved now: "+src.Problem)
		} else {
			lines = append(lines, fmt.Sprintf("source %s: commit %s (%s) of %s; check it out and build it:",
				src.Name, src.Commit, src.Ref, src.Repo),
				fmt.Sprintf("  git -C %s worktree add --detach \"$%s\" %s",
					shell.Quote(src.Repo), sourceVariable(src.Name), src.Commit))
		}
		for _, argv := range src.Build {
			line := " "
			for _, word := range argv {
				line += " " + shell.Quote(word)
			}
			lines = append(lines, line)
		}
		for _, name := range slices.Sorted(maps.Keys(src.Env)) {
			lines = append(lines, "  with "+name+"="+shell.Quote(src.Env[name])+" for the build")
		}
	}
	for _, t := range s.Spec.Trees {
		lines = append(lines, "working tree "+t.Name+": "+t.Path+", hash "+t.Hash)
	}
	for _, line := range lines {
		for _, one := range strings.FieldsFunc(s.secrets.Text(line), func(r rune) bool { return r == '\n' || r == '\r' }) {
			out = append(out, strings.TrimRight("# "+one, " "))
		}
	}
	return out
}
