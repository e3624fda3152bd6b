package ab

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/shell"
)

// Arm is one side of a comparison from the command line.
type Arm struct {
	Text string
	// Env are the assignments before the command, Words the command itself.
	Env   map[string]string
	Words []string
}

var (
	assignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=`)
	// secretFlag matches arguments with a secret.
	secretFlag = regexp.MustCompile(`^(--(?:api-key|hf-token|auth-token|token|password|secret))(?:=.|$)`)
)

// ParseArm reads 'NAME=value… program argument…'.
func ParseArm(flag, text string) (Arm, error) {
	arm := Arm{Text: strings.TrimSpace(text), Env: map[string]string{}}
	words, err := shell.Words(arm.Text)
	var needs *shell.NeedsShell
	switch {
	case errors.As(err, &needs):
		return arm,
			fmt.Errorf("--%s: %w, but no shell runs. Write it out, quote it, or start a shell yourself: --%s %s",
				flag, err, flag, quote("sh -c "+quote(arm.Text)))
	case err != nil:
		return arm, fmt.Errorf("--%s: %w", flag, err)
	}
	for len(words) > 0 {
		m := assignment.FindStringSubmatch(words[0])
		if m == nil {
			break
		}
		arm.Env[m[1]] = words[0][len(m[0]):]
		words = words[1:]
	}
	if arm.Words = words; len(words) == 0 || words[0] == "" {
		return arm,
			fmt.Errorf("--%s: %q is not a command: give the one that starts the server, such as --%s 'KERNEL=marlin "+
				"./serve.sh'", flag, text, flag)
	}
	for _, w := range slices.Concat(words, slices.Sorted(maps.Values(arm.Env))) {
		if strings.ContainsRune(w, 0) {
			return arm, fmt.Errorf("--%s: a command cannot contain NUL", flag)
		}
	}
	for _, w := range words {
		if m := secretFlag.FindStringSubmatch(w); m != nil {
			return arm,
				fmt.Errorf("--%s: the value after %s looks like a secret, and would be recorded and put into the "+
					"plan: remove it, or export the variable that the server reads it from", flag, m[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arm.Env)) {
		if redact.SecretName(name) && arm.Env[name] != "" {
			return arm,
				fmt.Errorf("--%s: %s looks like a secret, and would be recorded and put into the plan. Export it "+
					"first instead: the server inherits mxflow's environment", flag, name)
		}
	}
	return arm, nil
}

// Shape is two arms as one engine and one knob: the shared command, and the differences.
type Shape struct {
	// Env, Command and Args are the engine's.
	Env     map[string]string
	Command []string
	Args    []string
	Own     [2]KnobSettings
}

// KnobSettings is what one value of the knob sets. Command is nil if the engine's is used.
type KnobSettings struct {
	Env           map[string]string
	Command, Args []string
}

// ShapeOf splits two commands into a shared command and a knob. Trailing arguments that
// differ become arguments of the knob; if the programs differ, or words in the middle
// would be split, each value has its whole command.
func ShapeOf(a, b Arm) (Shape, error) {
	s := Shape{Env: map[string]string{}}
	for i, arm := range []Arm{a, b} {
		other := []Arm{b, a}[i]
		s.Own[i].Env = map[string]string{}
		for name, value := range arm.Env {
			if theirs, has := other.Env[name]; has && theirs == value {
				s.Env[name] = value
			} else {
				s.Own[i].Env[name] = value
			}
		}
	}
	n := 0
	for n < len(a.Words) && n < len(b.Words) && a.Words[n] == b.Words[n] {
		n++
	}
	same := n == len(a.Words) && n == len(b.Words)
	switch {
	case same && len(s.Own[0].Env)+len(s.Own[1].Env) == 0:
		return s,
			fmt.Errorf("--a and --b are the same command, so there is nothing to test: make them differ in a " +
				"variable (KERNEL=…), in arguments or in the program")
	case same:
		s.Command = a.Words
	case n == 0:
		s.Command = a.Words
		s.Own[1].Command = b.Words
	default:
		if n > 1 && strings.HasPrefix(a.Words[n-1], "-") {
			n-- // a flag stays with its value
		}
		s.Command = a.Words[:n]
		s.Own[0].Args, s.Own[1].Args = a.Words[n:], b.Words[n:]
	}
	return s, nil
}

func quote(word string) string {
	if held, ok := strings.CutSuffix(word, "{port}"); ok && (held == "" || shell.Quote(held) == held) {
		return word
	}
	return shell.Quote(word)
}

func join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}
