package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what is known of one kind of engine: how it is started, what its
// settings are called on its command line, and how it shows that it is ready.
// It is data, so that a new kind is one file with one register call.
type Kind struct {
	// Name is the word plans use: engine "embedded" "tiny".
	Name string
	// Doc is one paragraph for the manual, Example an engine block for it.
	Doc     string
	Example string
	// Command starts the engine, before its flags; see Spec.Command for what is
	// replaced in it. Nil means that the plan must give the command.
	Command []string
	// ReadyPath answers 200 once the engine can generate.
	ReadyPath string
	// ReadyFallback is asked instead where ReadyPath is unknown (404); empty
	// means that a 404 is not ready.
	ReadyFallback string
	// DefaultReadyTimeout and DefaultStopGrace serve where the plan is silent.
	DefaultReadyTimeout time.Duration
	DefaultStopGrace    time.Duration
	// Settings are all that a plan may set; any other is an error.
	Settings []Setting
}

// Setting is one option of a kind, in the kind's own words.
type Setting struct {
	Name string
	// Type is "string", "number" or "bool".
	Type string
	// Whole restricts a number to integers.
	Whole bool
	Doc   string
	// Default is what the engine does when the setting is absent, in words; it
	// is never sent.
	Default string
	// Flag is the flag that carries the value ("--max-model-len"). For a bool it
	// is given alone when true, and OffFlag, if there is one, when false.
	Flag    string
	OffFlag string
}

// kinds holds every Kind by name. It is filled before main by the kind files
// and never written after.
var kinds = map[string]Kind{}

func register(k Kind) { kinds[k.Name] = k }

// Kinds lists every known kind, by name.
func Kinds() []Kind {
	return slices.SortedFunc(maps.Values(kinds), func(a, b Kind) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// LookupKind finds a kind by its name.
func LookupKind(name string) (Kind, bool) {
	k, ok := kinds[name]
	return k, ok
}

// NeedsCommand reports whether the plan must say how to start the engine.
func (k Kind) NeedsCommand() bool { return len(k.Command) == 0 }

// Argv is the whole command line: command, or the kind's own where it is empty,
// the flags for settings, then args as they are. What is replaced at launch
// ({port}, {mxflow}) is still in it.
func (k Kind) Argv(command []string, settings map[string]any, args []string) ([]string, error) {
	if len(command) == 0 {
		command = k.Command
	}
	if len(command) == 0 {
		return nil, fmt.Errorf("engine kind %q has no command of its own: the plan must give one", k.Name)
	}
	flags, err := k.Flags(settings)
	if err != nil {
		return nil, err
	}
	return slices.Concat(command, flags, args), nil
}

// Flags turns settings into command line flags, in the order in which the kind
// declares them, so that equal settings give equal commands. A nil value is as
// good as absent. Values are what a plan decodes to: string, bool, any integer
// or float64. An unknown setting and a value of the wrong type are errors, all
// reported at once.
func (k Kind) Flags(settings map[string]any) ([]string, error) {
	var flags, wrong []string
	known := map[string]bool{}
	for _, s := range k.Settings {
		known[s.Name] = true
		v, ok := settings[s.Name]
		if !ok || v == nil {
			continue
		}
		f, err := s.flags(v)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		flags = append(flags, f...)
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !known[name] {
			wrong = append(wrong, fmt.Sprintf("unknown setting %q: %s", name, k.settingsHint()))
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("engine kind %q: %s", k.Name, strings.Join(wrong, "; "))
	}
	return flags, nil
}

func (k Kind) settingsHint() string {
	if len(k.Settings) == 0 {
		return "this kind has none, put flags into the command or args"
	}
	var names []string
	for _, s := range k.Settings {
		names = append(names, s.Name)
	}
	return "it has " + quoteList(names)
}

func (s Setting) flags(v any) ([]string, error) {
	mismatch := fmt.Errorf("setting %q must be a %s, not %v", s.Name, s.Type, v)
	switch s.Type {
	case "bool":
		on, ok := v.(bool)
		switch {
		case !ok:
			return nil, mismatch
		case on:
			return []string{s.Flag}, nil
		case s.OffFlag != "":
			return []string{s.OffFlag}, nil
		}
		return nil, nil
	case "number":
		text, ok := number(v)
		if !ok {
			return nil, mismatch
		}
		if s.Whole && strings.Contains(text, ".") {
			return nil, fmt.Errorf("setting %q must be a whole number, not %s", s.Name, text)
		}
		return []string{s.Flag, text}, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, mismatch
	}
	return []string{s.Flag, text}, nil
}

// number prints a number as a flag's value, never with an exponent, which some
// engines' integer parsers refuse.
func number(v any) (string, bool) {
	switch n := v.(type) {
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(n), true
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return "", false
		}
		return strconv.FormatFloat(n, 'f', -1, 64), true
	}
	return "", false
}
