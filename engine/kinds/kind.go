// Package kinds knows engines as data: how each kind is started, what its
// settings become on its command line, how it shows that it is ready, what its
// log and its pages report, and which lines show that it broke. It starts nothing
// and sends no requests. A new kind is one file.
package kinds

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/logscan"
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
	// Any says that an engine of any other kind may be behind it.
	Any bool
	// AskModel says that requests use the name that the engine lists, since the
	// plan's model is a file.
	AskModel bool
	// Ready are asked in this order; each must be answered before the next. None
	// means that the kind is not a server: it is ready once it runs.
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
	// Stages are lines that show how far a start has come, for who waits for it. The
	// first that fits a line counts.
	Stages   []StageLines
	Metrics  Metrics
	Tokenize Tokenize
	Ask      Ask
	// Profiler is how it takes a profile of itself.
	Profiler Profiler
	// MaxLag is how late the measuring client may be where the plan is silent; 0
	// is defaultMaxLag.
	MaxLag time.Duration
	// DefaultReadyTimeout and DefaultStopGrace serve where the plan is silent.
	DefaultReadyTimeout time.Duration
	DefaultStopGrace    time.Duration
	// Toy says that its model is so small that a step takes no time to speak of.
	Toy bool
	// Variables are all environment variables of its own that it reads, where they are
	// known.
	Variables []string
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

// mostEvents is how many events a second no stream of one request has on any hardware:
// a step of a model takes longer than 100 µs.
const mostEvents = 10_000

// MostEvents is how many events a second a stream of one request can have. A toy's steps
// have no such bound.
func (k Kind) MostEvents() float64 {
	if k.Toy {
		return math.Inf(1)
	}
	return mostEvents
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
	// Final are statuses that no waiting fixes, such as 404 where the model is
	// unknown, and Hint is what to do about them.
	Final []int
	Hint  string
}

// Profiler is how an engine takes profiles of itself, or how one is taken of it.
type Profiler struct {
	// Args and Env are added to a start that is to be profiled. {profile} in them, and
	// in Body, is the folder for profiles as the engine sees it.
	Args []string
	Env  map[string]string
	// Start and Stop are pages that are posted to begin and to end a profile; empty where
	// there are none. Body goes with the first.
	Start, Stop, Body string
}

// ProfileFolder stands for the folder for profiles in what a Profiler adds.
const ProfileFolder = "{profile}"

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

// Type is the type of a setting or of what is observed.
type Type string

// TypeCount is of a Pattern alone: how many lines of the log matched; zero is a
// value. TypeList, TypeObject and TypeAny, any of them, are of a Setting alone.
const (
	TypeString Type = "string"
	TypeNumber Type = "number"
	TypeBool   Type = "bool"
	TypeCount  Type = "count"
	TypeList   Type = "list"
	TypeObject Type = "object"
	TypeAny    Type = "any"
)

// Pattern takes one observation out of what an engine says of itself. It names
// one source: a log line, a page of its API, or a metric. Several patterns may
// have one name: the first that sees something counts.
type Pattern struct {
	// Name is what rules call it: engine.observed.<name>.
	Name string
	// Type of the value.
	Type Type
	Unit string
	Doc  string
	// Log are RE2 expressions, tried in order on each line of the log without
	// its terminal escapes. The group called "value", else the first group, is
	// the value; without a group the value is true. The last line that matches
	// counts, or the first where First says so: of an engine that says the same of
	// the model that it serves, and then of one that drafts for it.
	Log   []string
	First bool
	// Path is a page of the API, JQ the jq expression that takes the value out of
	// its JSON.
	Path string
	JQ   string
	// File is a file that the engine writes, where the engine lives, for JQ.
	File string
	// Metric are names of one Prometheus metric, newest first; the first that
	// the engine has counts. Labels pick one of several series.
	Metric []string
	Labels map[string]string
	// Scale multiplies a number; 0 means 1.
	Scale float64
	// Words maps what the engine says to the word that rules compare with.
	Words map[string]string
	// Consequence says that it follows from what was set and is nothing that was set
	// itself, such as a time or the memory that weights take: arms may differ in it,
	// and are shown side by side. In a setting, which every other is, they must agree.
	Consequence bool
	// Chosen says that its lines come from where the engine chose or made what they
	// name, after it looked at what can run. They prove it, also where they were logged
	// before the first request; a line that repeats what was asked for does not.
	Chosen bool
}

// Shows reports whether a line of the pattern shows what is, whenever it was logged.
func (p Pattern) Shows() bool { return p.Chosen || p.Consequence }

// Shown are expressions for lines by which an engine of this kind shows what is,
// whenever it logs them. Where it may be an engine of any kind, they are those of
// all.
func (k Kind) Shown() (exprs []string) {
	own := []Kind{k}
	if k.Any {
		own = All()
	}
	for _, k := range own {
		for _, p := range k.Observe {
			if p.Shows() {
				exprs = append(exprs, p.Log...)
			}
		}
	}
	return exprs
}

// Asked reports whether all that an observation can be taken from are lines of the
// log that repeat what was asked for.
func (k Kind) Asked(name string) bool {
	asked := false
	for _, p := range k.Observe {
		if p.Name == name {
			if len(p.Log) == 0 || p.Shows() {
				return false
			}
			asked = true
		}
	}
	return asked
}

// Signature is a log line that tells how an engine broke.
type Signature struct {
	// Glob is found in the line, see Glob.
	Glob string
	// Class is a word for reports: "oom", "crash", "config", "driver", "disk". The last
	// three are mistakes of a plan or of a machine: no engine is held to them.
	Class string
	// Means is one sentence: what happened and what to do.
	Means string
}

// Metrics is how a kind publishes Prometheus metrics.
type Metrics struct {
	// Path of the page, empty where the kind has none.
	Path string
	// Needs are flags without which the page is not there.
	Needs []string
	// Names maps mxflow's name of a metric ("running", "kv_cache_usage") to the
	// engine's names over its versions, newest first.
	Names map[string][]string
}

// Tokenize is how a kind counts the tokens of a text.
type Tokenize struct {
	Path string
	// Field is where the text goes in the request ("prompt", "content"), Count
	// the jq expression for the number of tokens in the answer.
	Field, Count string
}

// Ask is how a kind is asked for what engines ask differently for.
type Ask struct {
	// IgnoreEOS and MinTokens say whether the request fields of these names work.
	// Workloads fix the length of answers by the first; the second is for people
	// (`mxflow engine kinds`), as are Usage, ContinuousUsage and CacheReset.
	IgnoreEOS, MinTokens bool
	LogProbs             LogProbs
	// Usage says whether streams can end with token counts, ContinuousUsage
	// whether every event can carry them.
	Usage, ContinuousUsage bool
	// Extra is merged into every request: members without which a prompt is answered
	// from a cache, or an answer is cut short whatever length was asked for. CacheReset
	// is the page that empties a cache when it is posted to. Nobody here does: launches
	// are fresh starts, and their prompts are unique.
	Extra      map[string]any
	CacheReset string
	// Rename maps members of a request to what the engine calls them, where it
	// calls them otherwise.
	Rename map[string]string
	// CachedTokens is a flag that makes the engine report cached tokens.
	CachedTokens string
	// ClosesStreams says that the engine closes the connection behind each stream,
	// whatever its headers promise. A request on a connection that was kept would
	// race that, so none is kept.
	ClosesStreams bool
}

// LogProbs is what log-probabilities an engine gives, asked with logprobs in completions
// and with logprobs and top_logprobs in chats.
type LogProbs struct {
	// Top is how many of the likeliest tokens of a position a request may ask for, 0
	// where there are no log-probabilities. Setting is the one that sets it, where the
	// engine has one.
	Top     int
	Setting string
	// IDs says that tokens come with their ids. Without, two tokens of one text are one.
	// AskIDs says that they are asked for with return_tokens_as_token_ids.
	IDs, AskIDs bool
	// Prompt says how those of a prompt's tokens are asked for: "prompt_logprobs", or
	// "echo", which completions alone have; empty where they cannot be.
	Prompt string
	// Chat says that answers have them in chats alone, and completions without a word
	// have none.
	Chat bool
}

// Most is how many of the likeliest tokens an engine with these settings can be asked
// for.
func (l LogProbs) Most(settings map[string]any) int {
	if set, ok := settings[l.Setting].(float64); ok && l.Setting != "" {
		if set < 0 { // vLLM: as many as there are
			return math.MaxInt
		}
		return int(set)
	}
	return l.Top
}

// Patterns are all that is observed of an engine of this kind: its version, what
// the kind knows, and what the plan adds. One of the plan takes the place of all
// of its name.
func (k Kind) Patterns(plan []Pattern) []Pattern {
	var all []Pattern
	own := slices.Clone(k.Observe)
	if v := k.Version; v.Path != "" || len(v.Log) > 0 {
		v.Name, v.Type = "version", TypeString
		own = append([]Pattern{v}, own...)
	}
	for _, p := range own {
		if !slices.ContainsFunc(plan, func(q Pattern) bool { return q.Name == p.Name }) {
			all = append(all, p)
		}
	}
	return append(all, plan...)
}

// Diagnosis is how an engine broke, as its log shows.
type Diagnosis struct {
	// Class is a word for reports: "oom", "crash", "config", "driver", "disk". The last
	// three are mistakes of a plan or of a machine: no engine is held to them.
	Class string
	// Means is what happened and what to do.
	Means string
	// Line is the first line that shows it, LineNo its number.
	Line   string
	LineNo int
}

// diagnosedLine is how much of the line a sentence shows, in characters.
const diagnosedLine = 100

// String is one sentence with its evidence.
func (d Diagnosis) String() string {
	line := []rune(d.Line)
	if len(line) > diagnosedLine {
		line = append(line[:diagnosedLine], '…')
	}
	return fmt.Sprintf("%s [%s, log line %d: %s]", d.Means, d.Class, d.LineNo, string(line))
}

// diskFull is a cause that any engine may name.
var diskFull = Signature{"No space left on device", "disk", "A disk is full: free some space and apply again."}

// Diagnose looks in a log for the signatures by which engines of this kind show
// that they broke. The first in the kind's order counts, since a root cause is
// listed before what follows from it. Lines that only look like it (Harmless) are
// passed over. False where the log shows none of them, or cannot be read.
func (k Kind) Diagnose(logPath string) (Diagnosis, bool) {
	crashes := append([]Signature{diskFull}, k.Crashes...)
	var globs []string
	for _, c := range crashes {
		globs = append(globs, c.Glob)
	}
	scan, err := logscan.New(globs)
	if err != nil {
		return Diagnosis{}, false
	}
	scan.Unless(k.Harmless)
	if scan.File(logPath) != nil {
		return Diagnosis{}, false
	}
	seen := scan.Seen()
	for _, c := range crashes {
		if m, ok := seen[c.Glob]; ok {
			return Diagnosis{Class: c.Class, Means: c.Means, Line: m.FirstLine, LineNo: m.LineNo}, true
		}
	}
	return Diagnosis{}, false
}
