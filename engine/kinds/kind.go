// Package kinds knows engines as data: how each kind is started, what its
// settings become on its command line, by what it shows that it is ready, what
// its log and its pages tell, and by what lines it shows that it broke. It starts
// and asks nothing. A new kind is one file.
package kinds

import (
	"maps"
	"slices"
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
	// Command starts the engine, before its flags; see engine.Spec for what is
	// replaced in it, and Fill for the rest: {model} is the plan's model, {host}
	// the address to listen on. Nil means that the plan must give the command.
	Command []string
	// Image is the container image where a plan names none, ImageCommand the
	// arguments to it, before the flags, and Port where it listens in there.
	Image        string
	ImageCommand []string
	Port         int
	// Container is what its image needs of the container, where the plan is silent.
	Container Container
	// Env is set where neither the plan's engine nor a knob sets the same name.
	Env map[string]string
	// ConfigName is the name of the file that settings with a Key go into, empty
	// where the kind reads none. Its ending says the format: .yml, .yaml or .json.
	// ConfigArgs go before the flags where there is such a file; {config} in them
	// is where it lies.
	ConfigName string
	ConfigArgs []string
	// AskModel says that requests use the name that the engine lists, since the
	// plan's model is a file.
	AskModel bool
	// Ready are asked in this order; each must be answered before the next. None
	// means that the kind is no server: it is ready once it runs.
	Ready []Probe
	// Version is the page that says which version runs, and the jq expression for
	// it; empty where there is none.
	Version Pattern
	// Info are further pages that say what runs and how; kept for the record
	// where they answer.
	Info []string
	// Observe is what its log, its pages and its metrics tell, Crashes how it
	// shows that it broke, and Harmless globs of lines that look like it and are
	// not.
	Observe  []Pattern
	Crashes  []Signature
	Harmless []string
	Metrics  Metrics
	Tokenize Tokenize
	Ask      Ask
	// MaxLag is how late the measuring client may be where the plan is silent; 0
	// is defaultMaxLag.
	MaxLag time.Duration
	// DefaultReadyTimeout and DefaultStopGrace serve where the plan is silent.
	DefaultReadyTimeout time.Duration
	DefaultStopGrace    time.Duration
	// Settings are all that a plan may set; any other is an error.
	Settings []Setting
}

// defaultMaxLag is far above what a client with a processor to spare needs, and
// below what would show in a time to the first token.
const defaultMaxLag = 10 * time.Millisecond

// Lag is how late the measuring client may be: as declared, or as the kind has it.
func (k Kind) Lag(declared time.Duration) time.Duration {
	switch {
	case declared > 0:
		return declared
	case k.MaxLag > 0:
		return k.MaxLag
	}
	return defaultMaxLag
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
	// Final are statuses that no waiting mends, such as 404 where the model is
	// unknown, and Hint is what to do about them.
	Final []int
	Hint  string
}

// Container is what an image of the kind needs of its container.
type Container struct {
	IPC, ShmSize string
	Ulimits      map[string]string
	// Env is set in place of the kind's Env of the same names, since addresses
	// differ inside.
	Env map[string]string
}

// kinds holds every Kind by name. It is filled before main by the kind files
// and never written after.
var kinds = map[string]Kind{}

func register(k Kind) { kinds[k.Name] = k }

// All lists every known kind, by name.
func All() []Kind {
	return slices.SortedFunc(maps.Values(kinds), func(a, b Kind) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// Names lists them for a message.
func Names() string { return quoteList(slices.Collect(maps.Keys(kinds))) }

// Lookup finds a kind by its name.
func Lookup(name string) (Kind, bool) {
	k, ok := kinds[name]
	return k, ok
}

// NeedsCommand reports whether the plan must say how to start the engine.
func (k Kind) NeedsCommand() bool { return len(k.Command) == 0 }

// Fill replaces {model} and {host} in an argument or a value of the environment.
func Fill(text, model, host string) string {
	return strings.NewReplacer("{model}", model, "{host}", host).Replace(text)
}

// NeedsModel reports whether the engine is started with the model's name, so
// that a plan must give it. command is the one that is used.
func NeedsModel(command []string) bool {
	return slices.ContainsFunc(command, func(arg string) bool { return strings.Contains(arg, "{model}") })
}
