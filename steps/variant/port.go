package variant

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/plans"
)

// PortVariable holds the port of every process that is started.
const PortVariable = "MXFLOW_PORT"

// TakesPort reports whether a command shows that it takes the port that is chosen for it:
// {port}, or one of the variables with it, in a word or in a file of that name, such as a
// script. A file that is in a worktree cannot be read before the launch, and may take it.
func TakesPort(words []string, dir string, variables ...string) bool {
	// As a shell, Python, JavaScript and others read it: $PORT, environ["PORT"], env.PORT.
	reads := regexp.MustCompile("[$\"'.`]\\{?(?:" + strings.Join(variables, "|") + `)\b`)
	for i, word := range words {
		if strings.Contains(word, "{port}") || strings.Contains(word, "{source") && FixedPort(words) == 0 || reads.MatchString(word) {
			return true
		}
		path := word
		if i == 0 && !strings.ContainsRune(word, filepath.Separator) {
			path, _ = exec.LookPath(word)
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		if text, err := os.ReadFile(path); err == nil && reads.Match(text) {
			return true
		}
	}
	return false
}

var portFlag = regexp.MustCompile(`--port[ =](\d{2,5})\b`)

// FixedPort is the port that a command names, 0 if it names none.
func FixedPort(words []string) int {
	port := 0
	if m := portFlag.FindStringSubmatch(strings.Join(words, " ")); m != nil {
		port, _ = strconv.Atoi(m[1])
	}
	return port
}

// portNotTaken warns of a process that is to listen on a port that nothing in its command
// takes.
func portNotTaken(p *plans.Plan, e *plans.Engine) (warnings []plans.AttrError) {
	if e.Process == nil || e.Process.Port != 0 || len(EngineKind(e).Ready) == 0 {
		return nil
	}
	commands := [][]string{e.Process.Command}
	added, dir := slices.Clone(e.Args), e.Process.Dir
	values := slices.Collect(maps.Values(e.Env))
	settings := []any{e.Settings}
	for _, k := range p.Knobs {
		for _, v := range k.Values {
			if added = append(added, v.Args...); len(v.Command) > 0 {
				commands = append(commands, v.Command)
			}
			for _, value := range v.Env {
				if value != nil {
					values = append(values, *value)
				}
			}
			settings = append(settings, v.Settings)
		}
	}
	values = append(values, slices.Collect(maps.Values(EngineKind(e).Env))...)
	if strings.Contains(fmt.Sprint(values, settings), "{port}") {
		return nil
	}
	for _, command := range commands {
		words := slices.Concat(command, added)
		if TakesPort(words, p.Path(dir), PortVariable) {
			continue
		}
		remedy := `Pass it on, as in ‹"--port", "{port}"›, or name the port that the server always listens on in its process block: ‹port = 8000›.`
		if port := FixedPort(words); port != 0 {
			remedy = fmt.Sprintf("Write {port} in place of %d, or add to its process block: ‹port = %[1]d›.", port)
		}
		warnings = append(warnings, plans.AttrError{
			Code: "port-not-taken", Summary: "Nothing takes the port",
			Detail: fmt.Sprintf("Each launch of engine.%s.%s gets a free port, but neither {port} nor $%s is in its command or in a file that this names. %s",
				e.Kind, e.Name, PortVariable, remedy),
		})
	}
	return warnings
}
