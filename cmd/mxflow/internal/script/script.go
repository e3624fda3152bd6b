// Package script finds the knob values of a variant, and writes its start as a script, so
// it can be started again without mxflow. It starts nothing.
package script

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine"
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

// Write is the recipe as a shell script, without sensitive values unless it shows them;
// with envOnly it starts nothing.
func (r *Recipe) Write(secrets *redact.Redactor, envOnly bool) string {
	if r.Shows {
		secrets = nil
	}
	return (&script{Recipe: r, secrets: secrets}).write(envOnly)
}

// script is a shell script that reproduces a variant, while being written.
type script struct {
	*Recipe
	// secrets redacts sensitive values; nil if they are written out.
	secrets *redact.Redactor
	// fixed replaces placeholders that are not variables.
	fixed map[string]string
	// setup and then exports come before the command. direct are variables whose names a
	// shell cannot export, as words of env.
	setup, exports []string
	direct         []word
	used           map[string]bool
	hidden         int
}

// shellName matches a valid shell variable name.
var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// setting is a text of the plan as a word. If it is sensitive it becomes a variable,
// without which the script ends: better than a start with a wrong key.
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

// noted adds what the variables of a word need to the script.
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
		// The text is within double quotes and a parameter expansion.
		why = strings.Map(func(r rune) rune {
			if strings.ContainsRune("\"\\$`{}'\n", r) {
				return ' '
			}
			return r
		}, why)
		s.setup = append(s.setup, fmt.Sprintf(`: "${%s:?%s}"`, variable, why))
	}
}

// provide defines the variable for a placeholder.
func (s *script) provide(variable string) {
	switch variable {
	case "MXFLOW_PORT":
		s.setup = append(s.setup, fmt.Sprintf(`MXFLOW_PORT="${MXFLOW_PORT:-%d}"`, s.port()), "export MXFLOW_PORT")
	case "MXFLOW_PROGRAM":
		s.setup = append(s.setup, `MXFLOW_PROGRAM="${MXFLOW_PROGRAM:-mxflow}"`)
	case "MXFLOW_CONFIG":
		if s.hides(string(s.Spec.Config)) {
			s.used[variable] = false
			s.require(variable, "the configuration file "+s.Spec.ConfigName+" holds sensitive values and is not written here; name a file, or write this script with --show-secrets")
			return
		}
		// A launch fills in only the working tree's path.
		as := map[string]string{"{port}": "{port}", "{config}": "{config}", "{mxflow}": "{mxflow}"}
		for _, src := range s.Spec.Sources {
			if dir, ok := s.fixed[engine.SourceMark(src.Name)]; ok {
				as[engine.SourceMark(src.Name)] = dir
			}
		}
		content := s.noted(filled(string(s.Spec.Config), as))
		s.setup = append(s.setup,
			`MXFLOW_CONFIG="$(mktemp -d)"/`+shell.Quote(s.Spec.ConfigName),
			"printf %s "+content.String()+` >"$MXFLOW_CONFIG"`)
	default: // of a source
		s.used[variable] = false // require notes it
		s.require(variable, "name the folder of the working tree that the comments above describe")
	}
}

// sourceVariable stands for the working tree of a source.
func sourceVariable(name string) string { return "MXFLOW_SOURCE_" + strings.ToUpper(name) }

// hides reports whether a text contains anything sensitive.
func (s *script) hides(text string) bool { return s.secrets.Text(text) != text }

// port is where the engine listens by default.
func (s *script) port() int {
	if s.Kind.Port != 0 {
		return s.Kind.Port
	}
	return 8000
}

// unset are the variables that are removed and not set again.
func (s *script) unset() []string {
	return slices.DeleteFunc(slices.Clone(s.Spec.Unset), func(name string) bool { _, set := s.Spec.Env[name]; return set })
}

// assigned are the variables that the plan sets as NAME=value, by name. One with a
// sensitive value is the name alone, and must be set already.
func (s *script) assigned() (words []word) {
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Env)) {
		value, variable := s.Spec.Env[name], ""
		if shellName.MatchString(name) {
			variable = name
			if !s.Shows && (redact.SecretName(name) || s.hides(value)) {
				s.require(name, "its value is sensitive and is not written here; set it, or write this script with --show-secrets")
				words = append(words, literal(name))
				continue
			}
		}
		words = append(words, literal(name+"=").then(s.setting(value, variable, "the variable "+name)...))
	}
	return words
}

// environment exports what the plan sets and unsets the rest.
func (s *script) environment() {
	for _, name := range s.unset() {
		if shellName.MatchString(name) {
			s.exports = append(s.exports, "unset "+name)
		} else {
			s.direct = append(s.direct, literals("-u", name)...)
		}
	}
	for _, w := range s.assigned() {
		if name, _, _ := strings.Cut(w[0].text, "="); shellName.MatchString(name) {
			s.exports = append(s.exports, "export "+w.String())
		} else {
			s.direct = append(s.direct, w)
		}
	}
}

// write returns the whole script.
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

// commandText puts each flag of a long command on its own line, and what follows the
// flags.
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

// command is how the variant is started, with its preparation in s.setup; empty if
// somebody else starts it.
func (s *script) command() string {
	switch s.Spec.How() {
	case engine.HowDocker:
		return inSubshell(nil, s.dockerRun())
	case engine.HowCompose: // compose sets what the file says
		s.Notes = append(s.Notes, fmt.Sprintf("Its service is %s of %s.", s.Spec.Compose.Service, s.Spec.Compose.File))
		s.environment()
		return ""
	case engine.HowExec:
		return inSubshell(nil, s.dockerExec())
	case engine.HowEndpoint: // it was started by somebody else, and can at most be restarted
		if len(s.Spec.Endpoint.Restart) == 0 {
			return ""
		}
		s.environment()
		return inSubshell(nil, s.withDirect(s.words(s.Spec.Endpoint.Restart, "argument")))
	}
	return s.process()
}

// inSubshell runs a command in the folder, so sourcing the script does not change the
// caller's folder.
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
	if len(s.Kind.Ready) > 0 {
		s.noted(word{{variable: "MXFLOW_PORT"}}) // a server finds it in its environment too
	}
	s.environment()
	var dir word
	if folder := s.Spec.Dir; folder != "" {
		if abs, err := filepath.Abs(folder); err == nil && !engine.Marked(folder) {
			folder = abs // the script may be run from anywhere
		}
		dir = s.setting(folder, "", "the folder to start in")
	}
	return inSubshell(dir, s.withDirect(s.words(s.Spec.Command, "argument")))
}

// withDirect prefixes a command with env for the variables that a shell cannot export.
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

// listens is the port of an engine in its container: 0 if it shares its machine's network
// and takes the port from a variable, or is not a server.
func (s *script) listens(declared int) int {
	switch {
	case declared != 0:
		return declared
	case s.Kind.Port != 0:
		return s.Kind.Port
	case s.asksPort():
		return 8000 // as a launch does
	}
	return 0
}

func (s *script) asksPort() bool {
	texts := slices.Concat(s.Spec.Command, slices.Collect(maps.Values(s.Spec.Env)))
	return strings.Contains(strings.Join(texts, "\x00"), "{port}")
}

// flagged are the words of a docker command being written.
type flagged []word

func (f *flagged) add(flag string, value word) { *f = append(*f, literal(flag), value) }

// text adds a flag unless its value is empty.
func (f *flagged) text(flag, value string) {
	if value != "" {
		f.add(flag, literal(value))
	}
}

// dockerRun is the docker run equivalent of a launch.
func (s *script) dockerRun() []word {
	d := s.Spec.Docker
	argv := flagged(literals("docker", "run", "--rm", "--init"))
	argv.text("--pull", d.Pull)
	argv.text("--gpus", gpusValue(d.GPUs))
	argv.text("--ipc", d.IPC)
	argv.text("--shm-size", d.ShmSize)
	for _, name := range slices.Sorted(maps.Keys(d.Ulimits)) {
		argv.text("--ulimit", name+"="+d.Ulimits[name])
	}
	argv.text("--network", d.Network)
	argv.text("--user", d.User)
	inside := s.listens(d.Port)
	if d.Network == "host" {
		inside = 0
	}
	s.publish(&argv, inside)
	for _, source := range slices.Sorted(maps.Keys(d.Volumes)) {
		argv.add("--volume", s.setting(source+":"+d.Volumes[source], "", "a volume"))
	}
	workdir := d.WorkDir
	for _, src := range s.Spec.Sources {
		mount := sourceMount(src)
		s.fixed[engine.SourceMark(src.Name)] = mount
		argv.add("--volume", s.noted(word{{variable: sourceVariable(src.Name)}}).then(piece{text: ":" + mount}))
		if workdir == "" {
			workdir = mount
		}
	}
	if workdir != "" {
		argv.add("--workdir", s.setting(workdir, "", "workdir"))
	}
	s.mountConfig(&argv)
	argv = append(argv, s.containerEnv(s.unset())...)
	entry := s.words(d.Entrypoint, "entrypoint")
	if d.Entrypoint != nil && len(entry) == 0 {
		argv.add("--entrypoint", literal(""))
	} else if len(entry) > 0 {
		argv.add("--entrypoint", entry[0])
		entry = entry[1:]
	}
	argv = append(argv, s.setting(d.Image, "", "the image"))
	return slices.Concat(argv, entry, s.words(s.Spec.Command, "argument"))
}

// publish publishes a container's port on this machine, unless that is 0, and says where
// the configuration file is in it.
func (s *script) publish(argv *flagged, inside int) {
	s.fixed = map[string]string{"{config}": "/etc/mxflow/" + s.Spec.ConfigName}
	if inside != 0 {
		s.fixed["{port}"] = strconv.Itoa(inside)
		port := s.noted(word{{variable: "MXFLOW_PORT"}})
		argv.add("--publish", slices.Concat(literal("127.0.0.1:"), port, literal(fmt.Sprintf(":%d", inside))))
	}
}

func (s *script) mountConfig(argv *flagged) {
	if len(s.Spec.Config) > 0 {
		argv.add("--volume", s.configFile().then(piece{text: ":/etc/mxflow/" + s.Spec.ConfigName + ":ro"}))
	}
}

// sourceMount is where mxflow's container sees the working tree.
func sourceMount(src *engine.Source) string {
	if src.Mount != "" {
		return src.Mount
	}
	return "/workspace/" + src.Repo[1+strings.LastIndexByte(src.Repo, '/'):]
}

// configFile is the configuration file on this machine; {config} within it and the
// command are the container's.
func (s *script) configFile() word { return s.noted(word{{variable: "MXFLOW_CONFIG"}}) }

// gpusValue is the value of --gpus, empty if it is left out.
func gpusValue(gpus any) string {
	switch v := gpus.(type) {
	case nil:
		return ""
	case []any:
		ids := make([]string, len(v))
		for i, id := range v {
			ids[i] = fmt.Sprint(id)
		}
		if len(ids) == 0 {
			return ""
		}
		// The value is a line of CSV, so a list needs its own quotes.
		return `"device=` + strings.Join(ids, ",") + `"`
	}
	if value := fmt.Sprint(gpus); value != "0" {
		return value
	}
	return ""
}

// containerEnv are the --env flags. A name without a value takes the shell's, and without
// that removes the image's: so sensitive values stay out of the command line, and unset
// ones are unset.
func (s *script) containerEnv(unset []string) (argv flagged) {
	for _, name := range unset {
		if shellName.MatchString(name) {
			s.exports = append(s.exports, "unset "+name)
		}
		argv.text("--env", name)
	}
	for _, w := range s.assigned() {
		if !strings.Contains(w[0].text, "=") {
			s.exports = append(s.exports, "export "+w.String())
		}
		argv.add("--env", w)
	}
	return argv
}

// dockerExec is the engine as a command in a running container. env removes the
// container's own variables, which docker exec cannot.
func (s *script) dockerExec() []word {
	x := s.Spec.Exec
	argv := flagged(literals("docker", "exec"))
	if x.User != "" {
		argv.add("--user", s.setting(x.User, "", "user"))
	}
	workdir := x.WorkDir
	s.fixed = map[string]string{}
	for _, src := range s.Spec.Sources {
		if src.Mount == "" {
			continue
		}
		s.Notes = append(s.Notes, sourceVariable(src.Name)+" is the working tree where the container sees it, below "+src.Mount+".")
		if workdir == "" {
			workdir = engine.SourceMark(src.Name)
		}
	}
	if workdir != "" {
		argv.add("--workdir", s.setting(workdir, "", "workdir"))
	}
	if x.Port != 0 {
		s.fixed["{port}"] = strconv.Itoa(x.Port)
	}
	if len(s.Spec.Config) > 0 {
		inside := "/tmp/mxflow-" + s.Spec.ConfigName
		copied := append(literals("docker", "cp"), s.configFile(), literal(x.Container+":"+inside))
		s.setup = append(s.setup, commandText(copied))
		s.fixed["{config}"] = inside
	}
	argv = append(argv, s.containerEnv(nil)...)
	argv = append(argv, literal(x.Container))
	if unset := s.unset(); len(unset) > 0 {
		argv = append(argv, literal("env"))
		for _, name := range unset {
			argv.text("-u", name)
		}
	}
	return append(argv, s.words(s.Spec.Command, "argument")...)
}

// comments are what the script is, and what it rests on that no script can contain.
func (s *script) comments() (lines []string) {
	what := s.Variant + " of plan " + s.Plan
	if len(s.Stack) > 0 {
		what += ": baseline + " + strings.Join(s.Stack, " + ")
	}
	lines = append(lines, what)
	if len(s.Knobs) > 0 {
		lines = append(lines, "knobs: "+verdict.Pairs(s.Knobs, " = ", ", "))
	}
	lines = append(lines, fmt.Sprintf("engine: %s, launched by %s", s.Engine, s.Spec.How()))
	lines = append(lines, s.Notes...)
	for _, src := range s.Spec.Sources {
		if src.Problem != "" {
			lines = append(lines, "source "+src.Name+": "+src.Ref+" of "+src.Repo+", which cannot be resolved now: "+src.Problem)
		} else {
			lines = append(lines, fmt.Sprintf("source %s: commit %s (%s) of %s; check it out and build it:", src.Name, src.Commit, src.Ref, src.Repo),
				fmt.Sprintf("  git -C %s worktree add --detach \"$%s\" %s", shell.Quote(src.Repo), sourceVariable(src.Name), src.Commit))
		}
		for _, argv := range src.Build {
			lines = append(lines, "  "+commandText(literals(argv...)))
		}
		for _, name := range slices.Sorted(maps.Keys(src.Env)) {
			lines = append(lines, "  with "+name+"="+shell.Quote(src.Env[name])+" for the build")
		}
	}
	for _, t := range s.Spec.Trees {
		lines = append(lines, "working tree "+t.Name+": "+t.Path+", hash "+t.Hash)
	}
	if e := s.Spec.Endpoint; e != nil {
		lines = append(lines, "The engine is run outside mxflow, at "+e.URL+".")
	}
	return s.commentLines(lines)
}

// commentLines redacts comments, and keeps each on one line.
func (s *script) commentLines(lines []string) (out []string) {
	for _, line := range lines {
		out = append(out, strings.FieldsFunc(s.secrets.Text(line), func(r rune) bool { return r == '\n' || r == '\r' })...)
	}
	return out
}

// word is one word of a shell command: literal text, and variables that the shell
// expands.
type word []piece

// piece is text, or the variable of that name.
type piece struct{ text, variable string }

func literal(text string) word { return word{{text: text}} }

func literals(texts ...string) (words []word) {
	for _, text := range texts {
		words = append(words, literal(text))
	}
	return words
}

func (w word) then(more ...piece) word { return append(w[:len(w):len(w)], more...) }

// String writes the word for a POSIX shell.
func (w word) String() string {
	if len(w) == 1 && w[0].variable == "" {
		return shell.Quote(w[0].text)
	}
	var b strings.Builder
	for _, p := range w {
		switch {
		case p.variable != "":
			b.WriteString(`"$` + p.variable + `"`)
		case p.text != "":
			b.WriteString(shell.Quote(p.text))
		}
	}
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// placeholders are parts of an argument that a launch fills in, and the script's
// variables for them.
var placeholders = []struct{ mark, variable string }{
	{"{port}", "MXFLOW_PORT"}, {"{config}", "MXFLOW_CONFIG"}, {"{mxflow}", "MXFLOW_PROGRAM"},
}

// filled splits text at placeholders. as is what replaces those that are not variables of
// the script.
func filled(text string, as map[string]string) (w word) {
	for text != "" {
		at, mark, variable := len(text), "", ""
		for _, p := range placeholders {
			if i := strings.Index(text, p.mark); i >= 0 && i < at {
				at, mark, variable = i, p.mark, p.variable
			}
		}
		if name, i := engine.FindSource(text); name != "" && i < at {
			at, mark, variable = i, engine.SourceMark(name), sourceVariable(name)
		}
		if at > 0 {
			w = append(w, piece{text: text[:at]})
		}
		if mark == "" {
			break
		}
		if fixed, ok := as[mark]; ok {
			w = append(w, piece{text: fixed})
		} else {
			w = append(w, piece{variable: variable})
		}
		text = text[at+len(mark):]
	}
	if len(w) == 0 {
		return literal("")
	}
	return w
}
