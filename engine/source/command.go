package source

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type Command struct {
	Words []string
	// Dir is where it starts; relative names are resolved there.
	Dir string
	// Env looks up a variable of its environment.
	Env func(name string) string
	// Given are the values of its environment that the plan sets and that may name a file, Values all of
	// them, which are known of a running process: the same command is started from different shells.
	Given, Values []string
}

const (
	// scriptLimit is the largest file that is searched for names.
	scriptLimit = 1 << 20
	// namedLimit bounds a search that goes from script to script.
	namedLimit = 500
)

// token is what may be the name of a file in a script.
var token = regexp.MustCompile(`[\w./~+@%-]+`)

// Code is what a command runs.
type Code struct {
	// Files are its words that are files, and as far as scripts name them, the scripts,
	// programs and settings that those use.
	Files []string
	// Roots are the folders that code is loaded from by name: the one it starts in, those of
	// Python programs, and what their interpreters import from. None if it runs no file.
	Roots []Root
	// Problem is why there may be more; empty if there is not.
	Problem string
}

func (c Command) Code() (code Code) {
	s := search{Command: c}
	s.all()
	if code.Files = slices.Concat(s.paths, s.settings); !s.ran {
		return code
	}
	if len(s.paths) >= namedLimit {
		code.Problem = fmt.Sprintf("its scripts name more than %d files", namedLimit)
	}
	code.Add(c.Dir, HoldsCode)
	for _, path := range s.paths {
		if filepath.Ext(path) == ".py" {
			code.Add(filepath.Dir(path), HoldsCode)
		}
	}
	for _, interpreter := range s.interpreters {
		code.imports(interpreter, c)
	}
	return code
}

// Add adds a folder, unless what is there already has all of it.
func (code *Code) Add(dir string, holds Holds) {
	within := func(root Root) bool {
		return (root.Holds == holds || root.Holds == HoldsPackages) && strings.HasPrefix(dir+"/", root.Dir+"/")
	}
	if !slices.ContainsFunc(code.Roots, within) {
		code.Roots = append(code.Roots, Root{dir, holds})
	}
}

// PortVariable holds the port of every process that is started.
const PortVariable = "MXFLOW_PORT"

// TakesPort reports whether a command shows that it takes the port that is chosen for it:
// {port}, or one of the variables with it, in a word or in a script that it runs. One that
// lies in a worktree cannot be read before the launch, and may take it.
func (c Command) TakesPort(variables ...string) bool {
	// As a shell, Python, JavaScript and others read it: $PORT, environ["PORT"], env.PORT.
	reads := regexp.MustCompile("[$\"'.`]\\{?(?:" + strings.Join(variables, "|") + `)\b`)
	line := strings.Join(c.Words, " ")
	if strings.Contains(line, "{port}") || reads.MatchString(line) {
		return true
	}
	s := search{Command: c}
	s.all()
	return strings.Contains(line, "{source") && c.FixedPort() == 0 ||
		slices.ContainsFunc(s.paths, func(path string) bool { return reads.Match(script(path)) })
}

var portFlag = regexp.MustCompile(`--port[ =](\d{2,5})\b`)

// FixedPort is the port that a command names, 0 if it names none.
func (c Command) FixedPort() (port int) {
	if m := portFlag.FindStringSubmatch(strings.Join(c.Words, " ")); m != nil {
		port, _ = strconv.Atoi(m[1])
	}
	return port
}

func (s *search) all() {
	c := s.Command
	if len(c.Words) > 0 && filepath.Base(c.Words[0]) == "uv" {
		s.word(filepath.Join(".venv", "bin", "python"), c.Dir)
	}
	for i, word := range c.Words {
		if i == 0 && filepath.Base(word) == word {
			s.program(word)
			continue
		}
		_, value, _ := strings.Cut(word, "=")
		if !s.word(word, c.Dir) && !s.word(value, c.Dir) && strings.ContainsAny(word, " \n;") {
			s.text([]byte(word), c.Dir)
		}
	}
	for _, value := range c.Given {
		s.setting(value, func(string) bool { return true })
	}
	for _, value := range slices.Concat(c.Given, c.Values) {
		if !MayNameFile(value) {
			continue
		}
		for _, name := range append([]string{value}, token.FindAllString(value, -1)...) {
			s.setting(name, func(path string) bool { return IsCode(path) || isSetting(path) })
		}
	}
	slices.Sort(s.paths)
}

type search struct {
	Command
	paths, interpreters, settings []string
	// ran is set if it runs anything that was found.
	ran bool
}

// program adds the programs that a program finds through PATH. The program itself is the
// machine's, and known from the command.
func (s *search) program(name string) {
	if path, err := exec.LookPath(name); err == nil {
		s.look(path)
	}
}

// word adds the file that a word names, and reports whether it names one.
func (s *search) word(word, dir string) bool {
	path, ok := regular(word, dir)
	if ok && !isOutput(path) {
		s.file(path)
	}
	return ok
}

// MayNameFile reports whether a value of the environment can name a file: most have neither a
// slash nor a dot.
func MayNameFile(value string) bool { return strings.ContainsAny(value, "/.") }

// setting adds a file that a value of the environment names, as far as it counts, and nothing
// that it names: it need not be run.
func (s *search) setting(name string, counts func(path string) bool) {
	if !MayNameFile(name) {
		return
	}
	path, ok := regular(name, s.Dir)
	if ok && !slices.Contains(s.settings, path) && !isOutput(path) && !isDerived(path) && counts(path) &&
		path != ownPath() {
		s.settings = append(s.settings, path)
	}
}

// regular is the path of the file with that name, seen from a folder.
func regular(name, dir string) (path string, ok bool) {
	if rest, home := strings.CutPrefix(name, "~/"); home {
		if folder, err := os.UserHomeDir(); err == nil {
			name = filepath.Join(folder, rest)
		}
	}
	if name == "" || len(name) > 4096 {
		return "", false
	}
	if path = name; !filepath.IsAbs(name) {
		path = filepath.Join(dir, name)
	}
	info, err := os.Stat(path)
	return filepath.Clean(path), err == nil && info.Mode().IsRegular()
}

// text adds the programs, scripts and settings that a script names. Names of data are
// left out, as they may be its outputs.
func (s *search) text(text []byte, dirs ...string) {
	for _, name := range token.FindAllString(string(text), -1) {
		if strings.HasPrefix(name, "python") && filepath.Base(name) == name {
			s.program(name)
			continue
		}
		if !strings.Contains(name, "/") && !IsCode(name) && !isSetting(name) {
			continue
		}
		for _, dir := range dirs {
			path, ok := regular(name, dir)
			if !ok {
				// "$(dirname "$0")/server.py" has the token "/server.py".
				path, ok = regular(strings.TrimPrefix(name, "/"), dir)
			}
			if ok && (IsCode(path) || isSetting(path) || isExecutable(path)) {
				s.file(path)
				break
			}
		}
	}
}

func isSetting(path string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".env"}, filepath.Ext(path))
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

// file adds a file, and what it names.
func (s *search) file(path string) {
	if slices.Contains(s.paths, path) || len(s.paths) >= namedLimit || path == ownPath() {
		return
	}
	s.paths = append(s.paths, path)
	s.look(path)
}

func (s *search) look(path string) {
	s.ran = true
	if strings.HasPrefix(filepath.Base(path), "python") {
		s.interpreters = append(s.interpreters, path)
		return // its libraries are Python's own
	}
	s.text(script(path), filepath.Dir(path), s.Dir)
}

// script is the text of a script; empty for a program, whose libraries are seen once its
// processes have them mapped.
func script(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	head := make([]byte, scriptLimit)
	n, _ := io.ReadFull(file, head)
	if n == scriptLimit || bytes.ContainsRune(head[:n], 0) {
		return nil
	}
	return head[:n]
}

// ownPath is the path of the program that runs this: launches record its version.
func ownPath() string {
	path, _ := os.Executable()
	return path
}
