package tell

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Words of profiles: categories of work on a GPU, and why one waited.
var (
	categoryWords = map[string]string{
		"dense_gemm": "dense GEMM", "moe": "MoE", "attention": "attention", "norm_activation": "norm, activation", "sampling": "sampling",
		"memory": "memory, copies", "communication": "communication", "other": "other", "hidden": "hidden in CUDA graphs",
	}
	causeWords = map[string]string{
		"queued":      "between kernels already launched",
		"launch":      "launch call, up to its first work",
		"synchronize": "return from a synchronization",
		"runtime_api": "other calls of the GPU runtime",
		"operators":   "framework operators (dispatch)",
		"python":      "Python",
		"in_step":     "in the step, unrecorded (Python)",
		"unrecorded":  "between steps, unrecorded",
		"unknown":     "no launch call recorded",
		"tokenizer":   "tokenizer", "detokenizer": "detokenizer", "scheduler": "scheduler", "ipc": "IPC", "http": "HTTP",
	}
	restWords = map[string]string{
		"overlap": "less: streams overlap", "waits": "GPU waits", "profiler": "less: the profiler itself",
	}
)

// Category is a category of GPU work in words; a plan's own is unchanged.
func Category(name string) string { return wordOf(categoryWords, name) }

// Cause is why a GPU waited.
func Cause(name string) string { return wordOf(causeWords, name) }

// Rest is what else makes up a step besides work of a category.
func Rest(name string) string { return wordOf(restWords, name) }

func wordOf(words map[string]string, name string) string {
	if w, ok := words[name]; ok {
		return w
	}
	return name
}

var profilePhrases = phrases{
	code.ProvedByProfile: "the profile has to prove the value of {knobs|knob|knobs}",
	code.ProfileTook: func(r verdict.Reason) string {
		text := fill("{subject}: {gpu?GPU {gpu} a step}{gpu!{kernels|kernel|kernels}}{step? ({step} from end to end)}", r)
		if most := r.Args["most"].Text; most != "" {
			text += ", " + Category(most) + fill(" {share}", r)
		}
		return text
	},
	code.ProfileEmpty:      "{subject}: no kernel of the engine in {files:and}: check that the profiler records the GPU",
	code.ProfileHidden:     "{subject?{subject}: }{unnamed?{unnamed|kernel|kernels} whose names were not kept}{unnamed!CUDA graphs hide what {graphs?{graphs|launch|launches} }ran: add --cuda-graph-trace=node to nsys}",
	code.ProfileUnreadable: "{subject}: the profile cannot be read: {error}",
	code.ProfileRefused:    "POST {subject} was refused: {error}",
	code.ProfileNoFile:     "{subject?{subject}: }the profiler wrote no profile{waited? within {waited}}",
	code.ProfileCut:        "{subject}: an answer ended before its token {tokens}: raise the engine's longest sequence, or lower prompt_tokens or steps",
	code.InTrace:           setKnob + ": {glob:q} in the profile ({launches|launch|launches}, {gpu}: {kernel})",
	code.NotInTrace:        setKnob + ": {glob:q} must be in the profile but is not",
	code.WronglyInTrace:    setKnob + ": {glob:q} must not be in the profile but is ({launches|launch|launches}, {gpu}: {kernel})",
	code.LaunchesInTrace:   setKnob + ": {launches|launch|launches} of {globs:or} in the profile, at least {at_least} wanted",
	code.TooFewInTrace:     setKnob + ": at least {at_least|launch|launches} of {globs:or} must be in the profile but {launches} are",
	code.BareOfTrace:       setKnob + ": whether {globs:or} ran is not known",
}
