package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/internal/foreign"
)

// Setting is one option of a kind. Options with the same meaning have the same name in
// every kind; the engine's names are in the fields below. A value reaches the engine in
// every way that is named: as a flag, in the environment, in its configuration file.
type Setting struct {
	Name string
	Type Type
	// Whole is set for a number that is an integer.
	Whole bool
	// Min and Max bound a number, unless Max is zero.
	Min, Max float64
	Doc      string
	// Default is what the engine does without the setting, in words; it is never sent.
	Default string
	// Choices are the allowed values of a string; empty accepts any.
	Choices []string
	// Words maps the plan's word to the engine's, where they differ.
	Words map[string]string
	// Times names a whole-number setting that a number is multiplied by before it is
	// sent, if the engine counts for all sequences together what the plan counts for one,
	// unless the bool setting TimesUnless is true.
	Times, TimesUnless string

	// Flag is the flag for the value ("--max-model-len"); a list is joined by commas, or
	// each of its members is a separate word if Apart is set, and an object is JSON. For
	// a bool it is given alone if true, and OffFlag, if there is one, if false. Also are
	// further flags that get the same value.
	Flag, OffFlag string
	Also          []string
	Apart         bool
	// Env is a variable for the value; a bool is 1 or 0.
	Env string
	// Key is the position in the configuration file, with dots between its levels.
	Key string
	// On and Off are what true and false do, instead of all of the above.
	On, Off *Effect
	// Without is what a member of an object does in addition if another member is absent.
	Without *Without
	// Used names an observation that shows whether the engine used the setting: a number
	// above 0, or a word that is not "none". UsedWith is the member of the setting that
	// requests it, if it is a member of an object that is sent whole. UsedHidden is set
	// if an engine may use it without showing that, as with its metrics off. UsedNot names
	// the observation that says why it was not used, if there is one.
	Used, UsedWith, UsedNot string
	UsedHidden              bool
	// Fields are the members of an object that is not sent whole: each is a setting of
	// its own, and other members are rejected.
	Fields []Setting
}

// common are settings that several kinds have with one meaning: register gives one what it
// leaves out of the entry of its name here.
var common = map[string]Setting{
	"async_scheduling":       {Type: TypeBool, Doc: "Prepare the next step while the GPU runs the current one."},
	"block_size":             {Whole: true, Doc: "Tokens in one block of the KV cache."},
	"continuous_batching":    {Type: TypeBool},
	"cuda_graph_max_bs":      {Whole: true, Doc: "Largest batch with a CUDA graph; larger ones run without."},
	"data_parallel_size":     {Whole: true, Doc: "Copies of the model."},
	"dtype":                  {Doc: "Type of weights and activations: auto, bfloat16, float16, float32."},
	"enable_chunked_prefill": {Type: TypeBool, Doc: "Chunked prefill: split long prompts into steps."},
	"enable_metrics":         {Type: TypeBool, Doc: "Serve /metrics."},
	"enable_prefix_caching":  {Type: TypeBool, Doc: "Reuse the KV cache of common prefixes."},
	"enable_torch_compile":   {Type: TypeBool, Doc: "Compile the model with torch.compile."},
	"enforce_eager":          {Type: TypeBool, Doc: "Run without CUDA graphs."},
	"expert_parallel_size":   {Whole: true, Doc: "GPUs that share the experts."},
	"fit":                    {Type: TypeBool},
	"gpu_memory_utilization": {Type: TypeNumber},
	"hf_overrides":           {Type: TypeObject, Doc: "Members of the model's configuration to replace, as JSON."},
	"kv_cache_tokens":        {Whole: true, Doc: "Tokens that the KV cache holds."},
	"log_level":              {Doc: "Log level. Above info most observations are missing."},
	"max_model_len":          {Whole: true, Doc: "Longest sequence, prompt and output together, in tokens."},
	"max_num_batched_tokens": {Whole: true, Doc: "Maximum tokens per step, over all sequences."},
	"max_num_seqs":           {Whole: true, Doc: "Maximum number of concurrent sequences; others wait."},
	"num_speculative_tokens": {Whole: true},
	"pipeline_parallel_size": {Whole: true, Doc: "Groups of GPUs that share the layers."},
	"report_cached_tokens": {
		Type: TypeBool, Doc: "Report in each answer how many prompt tokens came from the prefix cache.",
	},
	"revision":             {Doc: "Branch, tag or commit of the model."},
	"seed":                 {Whole: true, Doc: "Sampling seed for requests without one."},
	"served_model_name":    {Doc: "Model name in requests."},
	"skip_tokenizer_init":  {Type: TypeBool, Doc: "Serve token IDs only."},
	"speculative":          {Type: TypeObject},
	"tensor_parallel_size": {Whole: true, Doc: "GPUs that share each layer."},
	"threads":              {Whole: true},
	"tokenizer":            {Doc: "Name or path of another tokenizer."},
	"trust_remote_code":    {Type: TypeBool, Doc: "Run code that comes with the model."},
}

// commonObservations are observations that several kinds have with one meaning: register gives
// one what it leaves out of the entry of its name here.
var commonObservations = map[string]Pattern{
	"acceptance_length": {
		Type: TypeNumber, Consequence: true, Unit: "tokens", Doc: "Mean accepted length of speculative decoding.",
	},
	"attention":      {Doc: "Attention back end in use."},
	"autotuned":      {Type: TypeCount, Consequence: true},
	"drafted_tokens": {Type: TypeNumber, Consequence: true, Unit: "tokens"},
	"kv_cache_dtype": {Doc: "Type of the KV cache."},
	"kv_capacity_tokens": {
		Type: TypeNumber, Consequence: true, Unit: "tokens", Doc: "Tokens that the KV cache holds.",
	},
	"kv_memory_gb":           {Type: TypeNumber, Consequence: true, Unit: "GB", Doc: "Memory of the KV cache."},
	"max_model_len":          {Type: TypeNumber, Unit: "tokens", Doc: "Longest sequence served."},
	"max_num_batched_tokens": {Type: TypeNumber, Unit: "tokens"},
	"max_num_seqs":           {Type: TypeNumber, Doc: "Maximum number of concurrent sequences."},
	"model_load_s":           {Type: TypeNumber, Consequence: true, Unit: "s", Doc: "Time to load the weights."},
	"moe_kernel":             {Doc: "Back end of the experts in use."},
	"prefix_caching":         {Type: TypeBool, Doc: "Whether prefixes are cached."},
	"quantization":           {Doc: "Quantisation method of the weights."},
	"speculative":            {Doc: "Method of speculative decoding."},
	"weights_gb":             {Type: TypeNumber, Consequence: true, Unit: "GB", Doc: "GPU memory of the weights."},
}

// shownBy are the observations that show a setting with another name.
var shownBy = map[string][]string{
	"attention_backend":     {"attention"},
	"compilation_config":    {"cuda_graphs"},
	"enable_prefix_caching": {"prefix_caching"},
	"enforce_eager":         {"cuda_graphs"},
	"moe_backend":           {"moe_kernel"},
	"prefill_cuda_graphs":   {"cuda_graphs"},
	"quantization":          {"linear_kernel"},
}

// ObservationsOf are the names of the observations that show a setting, in any kind.
func ObservationsOf(setting string) []string { return append([]string{setting}, shownBy[setting]...) }

// Without is the effect of a member of an object if Member is absent.
type Without struct {
	Member string
	Effect Effect
}

// Use is a setting of a launch, as written in a plan, and the observation that shows that
// the engine used it, which may be hidden; Not is the one that says why it did not.
type Use struct {
	Setting, Observed, Not string
	Hidden                 bool
}

// Uses are the settings of a launch whose use an observation shows; gpus is set if the plan
// gives the engine GPUs.
func (k Kind) Uses(settings map[string]any, gpus bool) []Use {
	uses := usesOf(k.Settings, settings, "")
	if settings["gpu_layers"] == nil && gpus &&
		slices.ContainsFunc(k.Observe, func(p Pattern) bool { return p.Name == "gpu_layers" }) {
		uses = append(uses, Use{"gpus", "gpu_layers", "gpu_error", true})
	}
	return uses
}

func usesOf(known []Setting, settings map[string]any, in string) (uses []Use) {
	for _, s := range known {
		v := settings[s.Name]
		name := in + s.Name
		members, ok := v.(map[string]any)
		if s.UsedWith != "" {
			name, v = name+"."+s.UsedWith, members[s.UsedWith]
		}
		// "0" asks for none, and "auto" leaves it to the engine.
		if s.Used != "" && v != nil && v != false && v != "0" && v != "auto" {
			uses = append(uses, Use{name, s.Used, s.UsedNot, s.UsedHidden})
		}
		if ok {
			uses = append(uses, usesOf(s.Fields, members, in+s.Name+".")...)
		}
	}
	return uses
}

// Effect is what reaches an engine.
type Effect struct {
	Flags []string
	// Env is set unless the plan sets the same names itself.
	Env map[string]string
	// Config is the content of the configuration file, nil if none of it is set; see
	// Render. The keys of a setting's effect have dots, as Setting.Key, those of Apply's
	// result are nested.
	Config map[string]any
}

// Apply turns settings into what the engine reads, in the order in which the kind
// declares them, so equal settings give equal commands. A nil value counts as
// absent. Values are what a plan decodes to: string, bool, int or float64, []any and
// map[string]any. An unknown setting or a value that the setting does not accept is
// an error; all are reported at once.
func (k Kind) Apply(settings map[string]any) (Effect, error) {
	var out Effect
	wrong := out.apply(k.Settings, plain(settings).(map[string]any))
	hint := "this kind has none; put flags into the command or args"
	if len(k.Settings) > 0 {
		hint = "it has " + namesOf(k.Settings)
	}
	for _, name := range unknown(k.Settings, settings) {
		wrong = append(wrong, fmt.Sprintf("unknown setting %q: %s", name, hint))
	}
	if len(wrong) > 0 {
		return out, fmt.Errorf("engine kind %q: %s", k.Name, strings.Join(wrong, "; "))
	}
	if out.Config != nil {
		out.Flags = append(slices.Clone(k.ConfigArgs), out.Flags...)
	}
	return out, nil
}

// apply adds the effects of settings and returns what is wrong with them.
func (e *Effect) apply(known []Setting, settings map[string]any) (wrong []string) {
	for _, s := range known {
		v := settings[s.Name]
		if v == nil {
			continue
		}
		if says := s.check(v); says != "" {
			wrong = append(wrong, fmt.Sprintf("setting %q %s", s.Name, says))
			continue
		}
		if len(s.Fields) > 0 {
			members := v.(map[string]any)
			for _, says := range e.apply(s.Fields, members) {
				wrong = append(wrong, fmt.Sprintf("in setting %q: %s", s.Name, says))
			}
			for _, name := range unknown(s.Fields, members) {
				wrong = append(wrong,
					fmt.Sprintf("setting %q has no member %q: it has %s", s.Name, name, namesOf(s.Fields)))
			}
			continue
		}
		if s.Times != "" && settings[s.Times] != nil && (s.TimesUnless == "" || settings[s.TimesUnless] != true) {
			each, ok1 := v.(int64)
			many, ok2 := settings[s.Times].(int64)
			if !ok1 || !ok2 || many < 1 {
				wrong = append(wrong,
					fmt.Sprintf("setting %q is multiplied by %s: both must be positive integers", s.Name, s.Times))
			}
			v = each * many
		}
		e.add(s.effect(v))
		if w := s.Without; w != nil && settings[w.Member] == nil {
			e.add(w.Effect)
		}
	}
	return wrong
}

// effect is that of a value that check accepts.
func (s Setting) effect(v any) (e Effect) {
	on, isBool := v.(bool)
	switch {
	case on && s.On != nil:
		return *s.On
	case isBool && !on && s.Off != nil:
		return *s.Off
	}
	if word, ok := v.(string); ok && s.Words[word] != "" {
		v = s.Words[word]
	}
	text := textOf(v)
	flags, words := append([]string{s.Flag}, s.Also...), []string{text}
	switch {
	case on:
		words = nil
	case isBool:
		flags, words = []string{s.OffFlag}, nil
	case s.Apart:
		words = strings.Split(text, ",")
	}
	for _, flag := range flags {
		if flag != "" {
			e.Flags = append(append(e.Flags, flag), words...)
		}
	}
	if s.Env != "" {
		if isBool {
			text = map[bool]string{true: "1", false: "0"}[on]
		}
		e.Env = map[string]string{s.Env: text}
	}
	if s.Key != "" {
		e.Config = map[string]any{s.Key: v}
	}
	return e
}

// check is what is wrong with a value; empty if it is of the setting's type.
func (s Setting) check(v any) string {
	ok := false
	switch v := v.(type) {
	case bool:
		ok = s.Type == TypeBool
	case string:
		ok = s.Type == TypeString
		if ok && len(s.Choices) > 0 && !slices.Contains(s.Choices, v) {
			return fmt.Sprintf("must be one of %s, not %q", quoteList(s.Choices), v)
		}
	case int64, float64:
		n, err := strconv.ParseFloat(textOf(v), 64)
		_, whole := v.(int64)
		ok = s.Type == TypeNumber && err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
		if ok && s.Whole && !whole {
			return "must be an integer, not " + textOf(v)
		}
		if ok && s.Max != 0 && !(s.Min <= n && n <= s.Max) {
			return fmt.Sprintf("must be between %s and %s, not %s", textOf(s.Min), textOf(s.Max), textOf(v))
		}
	case []any:
		ok = s.Type == TypeList && !slices.ContainsFunc(v, func(e any) bool { return e == nil })
	case map[string]any:
		_, err := json.Marshal(v)
		ok = s.Type == TypeObject && err == nil
	}
	if !ok {
		return fmt.Sprintf("must be %s, not %s", aType[s.Type], foreign.CleanTo(fmt.Sprint(v), 60))
	}
	return ""
}

var aType = map[Type]string{
	TypeString: "a string", TypeNumber: "a number", TypeBool: "a bool", TypeList: "a list",
	TypeObject: "an object of names and values",
}

// textOf is a value in the form of a flag or a variable. Numbers never have an exponent,
// which some engines' integer parsers reject.
func textOf(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, textOf(e))
		}
		return strings.Join(parts, ",")
	case map[string]any:
		data, _ := json.Marshal(v) // of plain values
		return string(data)
	}
	return fmt.Sprint(v)
}

// plain converts whole numbers to int64 throughout lists and objects, as a copy: a decoded
// plan has only float64, and a configuration file must not have 1e+06.
func plain(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case float64:
		if n := int64(v); float64(n) == v && math.Abs(v) < 1<<63 {
			return n
		}
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, plain(e))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = plain(e)
		}
		return out
	}
	return v
}

// unknown are the names of settings that are not known, in alphabetical order.
func unknown(known []Setting, settings map[string]any) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !slices.ContainsFunc(known, func(s Setting) bool { return s.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

func namesOf(settings []Setting) string {
	var names []string
	for _, s := range settings {
		names = append(names, s.Name)
	}
	return quoteList(names)
}

// quoteList prints words for a message: "a", "b" and "c".
func quoteList(words []string) string {
	var quoted []string
	for _, w := range slices.Sorted(slices.Values(words)) {
		quoted = append(quoted, strconv.Quote(w))
	}
	last := len(quoted) - 1
	if last < 1 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:last], ", ") + " and " + quoted[last]
}

// add merges a setting's effect into what is already there.
func (e *Effect) add(more Effect) {
	e.Flags = append(e.Flags, more.Flags...)
	for name, value := range more.Env {
		if e.Env == nil {
			e.Env = map[string]string{}
		}
		e.Env[name] = value
	}
	for _, key := range slices.Sorted(maps.Keys(more.Config)) {
		if e.Config == nil {
			e.Config = map[string]any{}
		}
		// Maps are merged; anything else in the way is replaced: the later setting wins.
		into, path := e.Config, strings.Split(key, ".")
		last := path[len(path)-1]
		for _, level := range path[:len(path)-1] {
			next, ok := into[level].(map[string]any)
			if !ok {
				next = map[string]any{}
				into[level] = next
			}
			into = next
		}
		old, held := into[last].(map[string]any)
		if members, ok := more.Config[key].(map[string]any); ok && held {
			maps.Copy(old, members)
		} else {
			into[last] = plain(more.Config[key])
		}
	}
}

// Render returns the configuration file of the kind, nil if none of it is set. Equal
// settings give equal files: keys are in alphabetical order.
func (e Effect) Render() ([]byte, error) {
	if e.Config == nil {
		return nil, nil
	}
	return yaml.Marshal(e.Config)
}

// Ways to force an engine to accept drafted tokens that its model would not have
// produced. They are for exploring the potential of speculation; measurements under them
// are not the model's work. Every kind is checked for all of them, since the engine
// behind a command may be another than its name suggests.

// forcedVariables force so many tokens to be accepted if they are above 0: those of
// SGLang and of TensorRT-LLM.
var forcedVariables = []string{"SGLANG_SIMULATE_ACC_LEN", "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"}

// ForcedLines are expressions for log lines, or for a command line, which show that
// tokens are accepted by force: vLLM's synthetic rejection sampling however it is
// written, and the variables with their value.
var ForcedLines = []string{
	`rejection[_-]sample[_-]method[\\'"\s=:]+synthetic\b`,
	`\b(?:` + strings.Join(forcedVariables, "|") + `)[\\'"\s]*[=:][\\'"\s]*[0-9.]*[1-9]`,
}

var forcedLine = regexp.MustCompile(strings.Join(ForcedLines, "|"))

// ForcedBy is what forces acceptance in such a text; empty if nothing does.
func ForcedBy(text string) string { return forcedLine.FindString(text) }

// ForcedIn is what forces acceptance in an environment of NAME=value; empty if nothing
// does. A value that is not a number counts as forcing.
func ForcedIn(environ []string) string {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		for _, forces := range forcedVariables {
			if name != forces || strings.TrimSpace(value) == "" {
				continue
			}
			if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil || !(n <= 0) {
				return pair
			}
		}
	}
	return ""
}
