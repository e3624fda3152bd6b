// Package kinds describes engines as data: how each kind is started, its settings and
// their flags, its readiness checks, the observations in its log and pages, and the lines
// that show that it broke. It starts nothing and sends no requests. A new kind is one
// file.
package kinds

import (
	"cmp"
	"maps"
	"math"
	pathpkg "path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Kind is what is known of one kind of engine: how it is started, how its settings are
// passed on its command line, and how it shows that it is ready. It is data, so a new
// kind is one file with one register call.
type Kind struct {
	// Name is the word in plans: engine "embedded" "tiny".
	Name string
	// Doc is one paragraph for the manual, Example an engine block for it.
	Doc     string
	Example string
	// Command starts the engine, before its flags; see engine.Spec for what is
	// replaced in it, and Fill for the rest: {model} is the plan's model, {host}
	// the address to listen on. Nil means that the plan must give the command.
	Command []string
	// Image is the default container image, ImageCommand its arguments, before the flags,
	// which are Command if it has no entrypoint, and Port where it listens inside.
	Image        string
	ImageCommand []string
	// Images are globs for the last element of the path of images of the kind, whoever
	// publishes them, and ImageTags one for their tags; empty for any.
	Images    []string
	ImageTags string
	Port      int
	// Container is what its image requires of the container, unless the plan sets it.
	Container Container
	// Env is set unless the plan's engine or a knob sets the same name.
	Env map[string]string
	// ConfigName is the name of the YAML file for settings with a Key, empty if the kind
	// reads none. ConfigArgs go before the flags if there is such a file; {config} in them
	// is its path.
	ConfigName string
	ConfigArgs []string
	// Any is set if an engine of any other kind may be behind it.
	Any bool
	// AskModel is set if requests use the name that the engine lists, since the plan's
	// model is a file.
	AskModel bool
	// Ready are probed in this order; each must succeed before the next. None means that
	// the kind is not a server: it is ready once it runs.
	Ready []Probe
	// Version is the page with the running version, and the jq expression for it; empty
	// if there is none.
	Version Pattern
	// Info are further pages about what runs and how; kept for the record if they answer.
	Info []string
	// Observe is what its log, its pages and its metrics report.
	Observe []Pattern
	// Crashes are lines by which it shows what broke it, beside those of any engine;
	// Aftermath those that only say that something did; Harmless globs of lines that only
	// look like it.
	Crashes, Aftermath []Signature
	Harmless           []string
	Metrics            Metrics
	Tokenize           Tokenize
	Ask                Ask
	// Profiler is how it takes a profile of itself.
	Profiler Profiler
	// MaxLag is the default for how late the measuring client may be; 0 is defaultMaxLag.
	MaxLag time.Duration
	// DefaultReadyTimeout and DefaultStopGrace are used if the plan sets none.
	DefaultReadyTimeout time.Duration
	DefaultStopGrace    time.Duration
	// Toy is set if its model is so small that a step takes negligible time.
	Toy bool
	// Variables are all its own environment variables, if known.
	Variables []string
	// Settings are all settings allowed in a plan; any other is an error.
	Settings []Setting
}

// defaultMaxLag is far above what a client with a spare processor needs, and below what
// would show in a TTFT.
const defaultMaxLag = 10 * time.Millisecond

// Lag is how late the measuring client may be: as declared, or the kind's value.
func (k Kind) Lag(declared time.Duration) time.Duration {
	switch {
	case declared > 0:
		return declared
	case k.MaxLag > 0:
		return k.MaxLag
	}
	return defaultMaxLag
}

// mostEvents is more events per second than a stream of one request reaches on any
// hardware: llama-server steps a model of two tiny layers in 60 µs.
const mostEvents = 25_000

// MostEvents is the maximum number of events per second for a stream of one request. A
// toy's steps have no such limit.
func (k Kind) MostEvents() float64 {
	if k.Toy {
		return math.Inf(1)
	}
	return mostEvents
}

// Probe is one request of a readiness check. It succeeds with status 200.
type Probe struct {
	Path string
	// Fallback is requested instead if Path is unknown (404); empty means that a 404 is
	// not ready.
	Fallback string
	// Body is posted as JSON, with "{model}" replaced by the model's name; empty makes it
	// a GET.
	Body string
	// Contains is text required in the answer; empty accepts any.
	Contains string
	// Slow probes load a model: they get all the remaining time.
	Slow bool
	// Final are statuses that no waiting fixes, such as 404 if the model is unknown, and
	// Hint is what to do about them.
	Final []int
	Hint  string
}

// Profiler is how an engine takes profiles of itself, or how one is taken of it.
type Profiler struct {
	// Args are added to a start for profiling. {profile} in them, and in Body, is the folder
	// for profiles as seen by the engine.
	Args []string
	// Start and Stop are pages posted to start and stop a profile; empty if there are
	// none. Body goes with the first.
	Start, Stop, Body string
}

// ProfileFolder is the placeholder of the folder for profiles in the additions of a
// Profiler.
const ProfileFolder = "{profile}"

// Container is what an image of the kind requires of its container.
type Container struct {
	IPC, ShmSize string
	Ulimits      map[string]string
}

// kinds holds every Kind by name. It is filled before main by the kind files
// and never written after.
var kinds = map[string]Kind{}

func register(k Kind) {
	if k.Image != "" && k.ImageCommand == nil {
		k.ImageCommand = k.Command
	}
	complete(k.Settings)
	for i := range k.Observe {
		p, c := &k.Observe[i], commonObservations[k.Observe[i].Name]
		p.Type, p.Unit, p.Doc = cmp.Or(p.Type, c.Type, TypeString), cmp.Or(p.Unit, c.Unit), cmp.Or(p.Doc, c.Doc)
		p.Consequence = p.Consequence || c.Consequence
	}
	kinds[k.Name] = k
}

// complete gives settings, and the members of objects, what is common to all kinds.
func complete(settings []Setting) {
	for i := range settings {
		s, c := &settings[i], common[settings[i].Name]
		if s.Type == "" {
			s.Type, s.Whole = cmp.Or(c.Type, TypeString), s.Whole || c.Whole
		}
		if s.Whole {
			s.Type = TypeNumber
		}
		s.Doc = cmp.Or(s.Doc, c.Doc)
		complete(s.Fields)
	}
}

func All() []Kind {
	return slices.SortedFunc(maps.Values(kinds), func(a, b Kind) int {
		return strings.Compare(a.Name, b.Name)
	})
}

func Names() string { return quoteList(slices.Sorted(maps.Keys(kinds))) }

func Lookup(name string) (Kind, bool) {
	k, ok := kinds[name]
	return k, ok
}

// OfImage is the kind of engine in an image by its name: by the last element of its path,
// else by an earlier one that is the name of a kind's images and no more, as in
// tensorrt-llm/release. An image that is only about an engine is of none.
func OfImage(image string) (Kind, bool) {
	path, tag := pathAndTag(image)
	elements := strings.Split(path, "/")
	slices.Reverse(elements)
	if beside.MatchString(elements[0]) {
		return Kind{}, false
	}
	for i, element := range elements {
		for _, k := range All() {
			shows := slices.ContainsFunc(k.Images, func(glob string) bool {
				fits, _ := pathpkg.Match(glob, element)
				return fits && (i == 0 || glob == element)
			})
			if tagged, _ := pathpkg.Match(k.ImageTags, tag); shows && (k.ImageTags == "" || tag == "" || tagged) {
				return k, true
			}
		}
	}
	return Kind{}, false
}

// beside are words of the names of images that serve an engine, and are none.
var beside = regexp.MustCompile(
	`(^|[-_.])(router|gateway|operator|controller|exporter|proxy|benchmarks?|bench|webui|ui|client)([-_.]|$)`)

var rocm = regexp.MustCompile(`(^|[-_./:])rocm[0-9]*([-_./:]|$)`)

// IsROCm reports whether an image is for AMD GPUs: a word of its path or its tag is rocm,
// with or without a version.
func IsROCm(image string) bool {
	path, tag := pathAndTag(image)
	return rocm.MatchString(path + ":" + tag)
}

// pathAndTag are an image's path in its registry, and its tag; no tag if it has none.
func pathAndTag(image string) (path, tag string) {
	_, path, _ = strings.Cut(Repository(image), "/")
	name, _, _ := strings.Cut(image, "@")
	return path, strings.TrimPrefix(strings.TrimPrefix(name, Untagged(image)), ":")
}

// Untagged is an image's name without its tag or digest.
func Untagged(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// Repository is that name in full: "docker.io/library/busybox" for "busybox:1".
func Repository(image string) string {
	image = Untagged(image)
	first, _, nested := strings.Cut(image, "/")
	switch {
	case !nested:
		return "docker.io/library/" + image
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		return "docker.io/" + image
	}
	return strings.Replace(image, "index.docker.io/", "docker.io/", 1)
}

// NeedsCommand reports whether the plan must give the engine's command.
func (k Kind) NeedsCommand() bool { return len(k.Command) == 0 }

// Fill replaces {model} and {host} in an argument or a value of the environment.
func Fill(text, model, host string) string {
	if !strings.Contains(text, "{") { // most do not, and a replacer costs more than they do
		return text
	}
	return strings.NewReplacer("{model}", model, "{host}", host).Replace(text)
}

// NeedsModel reports whether the engine is started with the model's name, so a plan must
// give it. command is the one used.
func NeedsModel(command []string) bool {
	return slices.ContainsFunc(command, func(arg string) bool { return strings.Contains(arg, "{model}") })
}

// Type is the type of a setting or of an observation; one without is a string.
type Type string

// TypeCount is for a Pattern only: how many lines of the log matched; zero is a value.
// TypeList and TypeObject are for a Setting only.
const (
	TypeString Type = "string"
	TypeNumber Type = "number"
	TypeBool   Type = "bool"
	TypeCount  Type = "count"
	TypeList   Type = "list"
	TypeObject Type = "object"
)

// Pattern extracts one observation from what an engine reports about itself. It has one
// source: a log line, a page of its API, or a metric. Several patterns may share a name:
// the first that finds something counts.
type Pattern struct {
	// Name is its name in rules: engine.observed.<name>.
	Name string
	Type Type
	Unit string
	Doc  string
	// Log are RE2 expressions, tried in order on each line of the log without its
	// terminal escapes. The group called "value", else the first group, is the value;
	// without a group the value is true. The last matching line counts, or the first if
	// First is set: for an engine that reports the same about the served model, and then
	// about a drafting one.
	Log   []string
	First bool
	// Each is set if all matching lines count: the value is their different values, each by
	// Words, in alphabetical order and joined by " + ", and that by Words again.
	Each bool
	// Anew is an expression for a line that makes all matches before it not count.
	Anew string
	// Path is a page of the API, JQ the jq expression that extracts the value from its
	// JSON.
	Path string
	JQ   string
	// File is a file written by the engine, where the engine lives, for JQ.
	File string
	// Metric are names of one Prometheus metric, newest first; the first that the engine
	// has counts. Labels select one of several series.
	Metric []string
	Labels map[string]string
	// Scale multiplies a number; 0 means 1.
	Scale float64
	// Words maps the engine's word to the one that rules compare with.
	Words map[string]string
	// Consequence is set for a consequence of settings, such as a time or the memory of
	// weights: arms may differ in it, and are shown side by side. In a setting, which
	// every other observation is, they must agree.
	Consequence bool
	// Chosen is set if the engine prints its lines where it chooses or makes what they
	// name, after checking what can run. They are proof even if logged before the first
	// request; a line that repeats the request is not.
	Chosen bool
}

// gibToGB converts GiB, which most engines also label GB, to GB.
const gibToGB = 1.073741824

// graphs is which CUDA graphs an engine captures, by the lines of each kind, in vLLM's words
// for them: whole decode steps (FULL_DECODE_ONLY), parts of prefill and of mixed steps
// (PIECEWISE), both (FULL_AND_PIECEWISE), whole steps of any kind (FULL), or none. words are
// the engine's for them.
func graphs(words map[string]string, lines ...string) Pattern {
	words["FULL_DECODE_ONLY + PIECEWISE"] = "FULL_AND_PIECEWISE"
	words["FULL + FULL_DECODE_ONLY"] = "FULL"
	words["FULL + FULL_DECODE_ONLY + PIECEWISE"] = "FULL"
	return Pattern{
		Name: "cuda_graphs", Type: TypeString, Chosen: true, Each: true, Log: lines, Words: words,
		Doc: "Which CUDA graphs are captured: FULL_AND_PIECEWISE, FULL_DECODE_ONLY (prefill runs without), " +
			"PIECEWISE, FULL or NONE.",
	}
}

// Shows reports whether a line of the pattern shows what is in effect, whenever it was
// logged.
func (p Pattern) Shows() bool { return p.Chosen || p.Consequence }

// EffectPatterns are expressions for lines by which an engine of this kind shows what is in
// effect, whenever it logs them. If it may be an engine of any kind, they are those of
// all.
func (k Kind) EffectPatterns() (exprs []string) {
	of := []Kind{k}
	if k.Any {
		of = All()
	}
	for _, k := range of {
		for _, p := range k.Observe {
			if p.Shows() {
				exprs = append(exprs, p.Log...)
			}
		}
	}
	return exprs
}

// OnlyEchoed reports whether an observation can only come from log lines that repeat what was
// asked for.
func (k Kind) OnlyEchoed(name string) bool {
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

// Metrics is how a kind publishes Prometheus metrics.
type Metrics struct {
	// Path of the page, empty if the kind has none.
	Path string
	// Needs are flags that enable the page.
	Needs []string
	// Names maps mxflow's name of a metric ("running", "kv_cache_usage") to the
	// engine's names over its versions, newest first.
	Names map[string][]string
}

// Tokenize is how a kind counts the tokens of a text.
type Tokenize struct {
	Path string
	// Field is the request's member for the text ("prompt", "content"), Count the jq
	// expression for the number of tokens in the answer.
	Field, Count string
}

// Ask is how requests to a kind differ from other engines'.
type Ask struct {
	// IgnoreEOS reports whether the request field of this name works, by which workloads
	// fix the length of answers.
	IgnoreEOS bool
	LogProbs  LogProbs
	// Usage reports whether streams can end with token counts, ContinuousUsage whether
	// every event can have them. Both are for people (`mxflow engine kinds`).
	Usage, ContinuousUsage bool
	// Extra is merged into every request: members without which a prompt is answered from
	// a cache, or an answer is cut short whatever length was requested.
	Extra map[string]any
	// Continue is what a chat needs for its answer to go on from a last message of the
	// assistant; nil if it cannot.
	Continue map[string]any
	// Rename maps members of a request to the engine's names, if they differ.
	Rename map[string]string
	// CachedTokens is a flag that makes the engine report cached tokens.
	CachedTokens string
	// ClosesStreams is set if the engine closes the connection after each stream,
	// whatever its headers promise. A request on a kept connection would race with that,
	// so none is kept.
	ClosesStreams bool
}

// LogProbs is which log-probabilities an engine gives, requested with logprobs in
// completions and with logprobs and top_logprobs in chats.
type LogProbs struct {
	// Top is how many of the likeliest tokens of a position a request may ask for, 0 if
	// there are no log-probabilities. Setting is the setting for it, if the engine has
	// one.
	Top     int
	Setting string
	// IDs is set if tokens come with their IDs. Otherwise two tokens with one text are
	// one. AskIDs is set if they are requested with return_tokens_as_token_ids.
	IDs, AskIDs bool
	// Prompt is how those of a prompt's tokens are requested: "prompt_logprobs", or
	// "echo", which only completions have; empty if they cannot be.
	Prompt string
	// Chat is set if only chat answers have them, and completions silently have none.
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

// Patterns are all observations of an engine of this kind: its version, the kind's, and
// the plan's. One of the plan replaces all of its name, and is about the served model if
// they are (First).
func (k Kind) Patterns(plan []Pattern) []Pattern {
	var all []Pattern
	own := slices.Clone(k.Observe)
	plan = slices.Clone(plan)
	if v := k.Version; v.Path != "" || len(v.Log) > 0 {
		v.Name, v.Type = "version", TypeString
		own = append([]Pattern{v}, own...)
	}
	for _, p := range own {
		i := slices.IndexFunc(plan, func(q Pattern) bool { return q.Name == p.Name })
		if i < 0 {
			all = append(all, p)
			continue
		}
		plan[i].First = plan[i].First || p.First
	}
	return append(all, plan...)
}
