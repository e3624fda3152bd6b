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
	// replaced in it, and {model} is the plan's model. Nil means that the plan
	// must give the command.
	Command []string
	// Image is the container image where a plan names none, ImageCommand the
	// arguments to it, before the flags, and Port where it listens in there.
	Image        string
	ImageCommand []string
	Port         int
	// Env is set where neither the plan's engine nor a knob sets the same name.
	Env map[string]string
	// ConfigName is the name of the file that settings with a Key go into, empty
	// where the kind reads none. {config} in Command is where it lies.
	ConfigName string
	// AskModel says that requests use the name that the engine lists, since the
	// plan's model is a file.
	AskModel bool
	// Ready are asked in this order; each must be answered before the next. None
	// means that the kind is no server: it is ready once it runs.
	Ready []Probe
	// Version is the page that says which version runs, and the jq expression for
	// it; empty where there is none.
	Version Pattern
	// Observe is what its log, its pages and its metrics tell, Crashes how it
	// shows that it broke, and Harmless globs of lines that look like it and are
	// not.
	Observe  []Pattern
	Crashes  []Signature
	Harmless []string
	Metrics  Metrics
	Tokenize Tokenize
	Ask      Ask
	// DefaultReadyTimeout and DefaultStopGrace serve where the plan is silent.
	DefaultReadyTimeout time.Duration
	DefaultStopGrace    time.Duration
	// Settings are all that a plan may set; any other is an error.
	Settings []Setting
}

// Probe is one question of a readiness check. It is answered by status 200.
type Probe struct {
	Path string
	// Fallback is asked instead where Path is unknown (404); empty means that a
	// 404 is not ready.
	Fallback string
	// Body is posted as JSON, with "{model}" replaced by the model's name; empty
	// makes the question a GET.
	Body string
	// Contains is text that the answer must have; empty takes any.
	Contains string
	// Slow questions load a model: they get all the time there is.
	Slow bool
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

// Applied is what the settings of a plan come to.
type Applied struct {
	Flags []string
	// Env is set unless the plan sets the same names itself.
	Env map[string]string
	// Config is the content of the configuration file, nil where nothing of it
	// is set.
	Config map[string]any
}

// Apply turns settings into what the engine reads, in the order in which the
// kind declares them, so that equal settings give equal commands. A nil value is
// as good as absent. Values are what a plan decodes to: string, bool, any
// integer or float64. An unknown setting and a value of the wrong type are
// errors, all reported at once.
func (k Kind) Apply(settings map[string]any) (Applied, error) {
	var out Applied
	var wrong []string
	known := map[string]bool{}
	for _, s := range k.Settings {
		known[s.Name] = true
		v, ok := settings[s.Name]
		if !ok || v == nil {
			continue
		}
		if err := s.apply(v, &out); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !known[name] {
			wrong = append(wrong, fmt.Sprintf("unknown setting %q: %s", name, k.settingsHint()))
		}
	}
	if len(wrong) > 0 {
		return out, fmt.Errorf("engine kind %q: %s", k.Name, strings.Join(wrong, "; "))
	}
	return out, nil
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

func (s Setting) apply(v any, out *Applied) error {
	flags, err := s.flags(v)
	out.Flags = append(out.Flags, flags...)
	return err
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
