package tell

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// gone are the classes of code.LaunchGone (launch.Gone).
var gone = map[string]string{
	"ended":   "the worker ended",
	"silent":  "the worker went silent",
	"damaged": "its result arrived damaged",
	"broke":   "the worker failed",
	"job":     "its scheduler ended its job",
}

// broken says how a launch ended: first what its log shows to be the cause, if anything.
func broken(how string) whole {
	return func(r verdict.Reason) string {
		if len(r.Causes) > 0 && r.Causes[0].Code == code.Diagnosed {
			return fill("{causes} "+how, r)
		}
		return fill(how+"{causes?; {causes}}", r)
	}
}

var launchPhrases = phrases{
	code.LaunchBroke: broken("{error}"),
	code.EngineDied:  broken("the engine died ({exit}) while answering: {error}"),
	code.EngineEnded: broken("the engine exited on its own ({exit})"),
	code.Diagnosed:   "{means} [{class}{line_no?, log line {line_no}: {line}}]",
	code.PortShared:  broken("{by} listened at the engine's port when the launch ended, so that it may have answered"),
	code.PortUnseen:  "not checked whether another program listens at the engine's port: who does cannot be told there",
	code.PortAgain:   "started again on another port: {causes}",
	code.SignalSays: func(r verdict.Reason) string {
		return map[string]string{
			"SIGILL": "it was built for another CPU, or a trap in one of its libraries stopped it: build it on this machine",
			"SIGBUS": "memory that it had mapped is gone: /dev/shm or a disk is full (shm_size of a container), or a file was cut while in use",
		}[r.Args["signal"].Text]
	},
	code.LaunchGone: func(r verdict.Reason) string {
		return fill("lost on {subject}: "+gone[r.Args["class"].Text]+"{job? (job {job})}{error?: {error}}", r)
	},
	code.WorkerReady:     "launching on {subject}{job? (job {job})}",
	code.WorkerWaits:     "waiting for slot {slot}{says?: {says}}",
	code.WorkerUnstarted: "executor \"{subject}\" started no worker; it ran: {command}{says?; output: {says}}",
	code.JobUnstarted: func(r verdict.Reason) string {
		class := cmp.Or(map[string]string{"Deleted": "somebody deleted it", "PodEnded": "its pod ended first"}[r.Args["class"].Text], r.Args["class"].Text)
		return fill("executor \"{subject}\" started no worker in Job {job}: "+class+"{says?: {says}}. Correct the Job in the executor block, or what it refers to, and apply again", r)
	},
	code.WorkerUncopied: "mxflow could not be copied to {subject} by {command}: {error}{says?; output: {says}}. Check that this command logs in without a prompt, or name mxflow there in the executor block",
	code.WorkerRefuses:  "{subject?{subject}: }{error}",
	code.LeftJob:        "cancelled job {subject}, left by a killed apply",
	code.PlaceLeft:      "{subject} was lost before the round was complete",

	code.Stopping: "stopping: {error}",
	code.LeftRunning: func(r verdict.Reason) string {
		return fill("still running after the engine exited: ", r) + strings.Join(r.Args["names"].List, ", ") + fill(" ({n} in total); mxflow ended them", r)
	},
	code.LeftFiles: func(r verdict.Reason) string {
		return fill("it left ", r) + strings.Join(r.Args["paths"].List, ", ") + fill(" ({n} in total, {gb}), which another launch may find", r)
	},
	code.Unstopped: "an earlier launch left processes that could not be ended and may slow the next one: {error}. End them and apply again",
	code.Altered:   "mxflow itself was changed during the run, and engines inherit that ({causes}): further launches would not be comparable. Find out what changed it (an engine may have), then apply again from a new shell",
	code.NotKept: func(r verdict.Reason) string {
		what := map[string]string{"output": "its output", "log": "the log", "metadata": "the launch's metadata"}[r.Subject]
		return fmt.Sprintf("%s could not be saved: %s", what, r.Args["error"].Text)
	},
	code.LogRemoved:      "log removed, because sensitive values in it could not be redacted: {error}",
	code.NothingObserved: "nothing was observed: {error}",
	code.Unobserved:      "{why}",
	code.TreeUnrecorded:  "working tree {subject}, which the engine sees, was not recorded: {error}",
	code.Watched:         "{text}",

	code.GPUShared:       "shared GPU: {by} after the engine stopped",
	code.GPUUnseen:       "could not check whether GPU memory was released: {error}",
	code.GPUNotGivenBack: "GPU memory was not released within {within}: {by}",
	code.GPUWait:         "waiting up to {wait} for the GPU: {until}",
	code.GPULockWait:     "waiting up to {wait}: {until}",
	code.GPUUnlisted:     "no GPU is locked or waited for, because GPUs cannot be listed: {error}",
	code.GPUUncertain:    "CUDA_VISIBLE_DEVICES is ambiguous, because the GPUs differ and CUDA orders them by speed: all are taken. Set CUDA_DEVICE_ORDER = \"PCI_BUS_ID\", or use UUIDs",

	code.ReadingsDamaged: "the readings of {subject} are damaged or duplicated, so it is unknown whether the GPU was disturbed",
	code.GPUSlowed: func(r verdict.Reason) string {
		var by []string
		for _, bit := range r.Args["by"].List {
			by = append(by, slowedBy(bit))
		}
		return fill("{subject}: GPU {gpu} was slowed down for {share:3} of the measured time (", r) + strings.Join(by, ", ") + "): let it cool down, or check its power supply, before measuring again"
	},
	code.GPUNeighbours:  "{subject}: processes other than the engine's were on GPU {gpu} for {share:3} of the measured time (up to {most} at once): stop them, or choose another GPU",
	code.ClockWandered:  "{subject}: the SM clock of GPU {gpu} moved between {low} and {high}, not because of a power limit: lock the clocks (nvidia-smi -lgc), or let nothing set them, before measuring again",
	code.SentLate:       "{subject}: requests were sent up to {max:3} late (p99 {p99:3}, allowed {limit}): the client could not keep up with the schedule",
	code.WokenLate:      "{subject}: the client woke up to {max:3} late (p99 {p99:3}, allowed {limit}): it measured this machine as much as the engine; stop other load, measure from another machine, or {flag?allow more with {flag}}{flag!raise max_lag}",
	code.ReadLate:       "{subject}: {requests} of {of} answers came together because the client read up to {max:3} late: they show no speed; stop other load, ask for more tokens, or measure from another machine",
	code.Unusable:       "{requests} of {of} answers of {subject} cannot be used: {error}",
	code.HeldBack:       "{requests} of {of} answers of {subject} came in one piece after up to {longest:3} without a token: ttft, itl and tg show when they were released, not how fast they were generated; stop other load, ask for more tokens, or remove a buffering proxy",
	code.FromCache:      "prompts were partly answered from a cache ({requests} of {of} requests of {subject}, {tokens} tokens), so prefill looks too fast; turn the engine's prefix cache off, or declare what prompts share (system_tokens, depth_cached, turns)",
	code.PrefixHits:     "prompts were partly answered from a cache: by its own counters the engine found {share:3} of the prompt tokens of {subject} in its prefix cache, so prefill looks too fast; turn the prefix cache off, or send new prompts (another seed)",
	code.CacheUnknown:   "unknown for {unknown} of {of} requests of {subject} whether a cache answered the prompt: start the engine with {flag}",
	code.TemplateCached: "{requests} of {of} requests of {subject} had a few cached tokens, as from a fixed chat template",
	code.ContextLost:    "{requests} of {of} requests of {subject} missed their context in the engine's prefix cache, by {tokens} tokens: is prefix caching on, and large enough?",
	code.ContextUnknown: "unknown for {unknown} of {of} requests of {subject} whether they found their context in the engine's prefix cache",
	code.Short:          "{requests} of {of} answers of {subject} were shorter than requested, by {tokens} tokens in all",
	code.Overlong:       "{requests} of {of} answers of {subject} are longer than requested, e.g. {most} tokens for {asked}: the server ignores max_tokens or miscounts, and its speeds are for other work",
	code.LengthUnknown:  "prompt length unknown for {unknown} of {of} requests of {subject}: the engine reported none, or an impossible one (counted by: {method})",
	code.LengthOther:    "prompts of {subject} were {least?{least} to }{most} tokens long instead of {want}{want!what was requested} (counted by: {method})",
	code.ByEvents:       "tokens of {subject} were counted as stream events, as the engine does not count them",
	code.Doubtful: func(r verdict.Reason) string {
		if n := r.Args["answers"].Number; n != nil && *n == 1 {
			return fill("one answer of {subject} is doubtful (request {request}): {doubts}", r)
		}
		return fill("{answers} answers of {subject} are doubtful (e.g. request {request}): {doubts}", r)
	},
	code.PromptTokens: "prompts of {subject} are {own} tokens long by its own count, {reference} by the reference's",

	code.Garbage: "{subject?{subject} }request {request}{turn?, turn {turn}}: {causes} ({excerpt:q})",
	code.Circles: "{answers} of {of} answers loop or are empty where the parent's do not, {reverse} the other way round, e.g. request {request}{turn?, turn {turn}}: {causes} ({excerpt:q})",

	code.SignEmpty:      "empty" + fromStart,
	code.SignOnlyBroken: "nothing but replacement characters" + fromStart,
	code.SignBroken:     "{count} of {of} characters are replacement, control or private ones" + fromStart,
	code.SignNotNumbers: "{count} of {of} words are NaN or infinite" + fromStart,
	code.SignOneWord:    "{text:q} is {count} of {of} words" + fromStart,
	code.SignRepeated:   "{text:q} over and over" + fromStart,
	code.SignTooEven:    "character entropy of {bits:3} bits, less than any text has" + fromStart,
	code.SignTooRandom:  "character entropy of {bits:3} bits, more than any text has" + fromStart,

	code.LaunchSays:     "launch {subject}",
	code.NoteOf:         "{subject}",
	code.LaunchesNote:   "{launches} of {of} launches",
	code.LaunchOf:       "launch {number} of {of}",
	code.ClocksApart:    "the SM clock was {clock} for {subject} and {other_clock} for {other} ({apart:2} apart), not because of a power limit: lock the clocks (nvidia-smi -lgc) and measure again",
	code.ClocksFollow:   "the SM clock was {clock} for {subject} and {other_clock} for {other} ({apart:2} apart): caused by the power limit, according to the driver",
	code.CountUnknown:   "{subject}: {counted} reports the tokens it generated in every launch, {not} does not: unknown whether they did the same work",
	code.UnequalWork:    "{subject}: {one} generated {generated:4} of the requested tokens, {other} {other_generated:4}: they did not do the same work",
	code.CountedApart:   "{subject}: tokens of {counted} were counted by the engine, some of {not} as stream events, which may hold many each: not comparable",
	code.CountedMixed:   "{subject}: tokens were counted by the engine in some launches, as stream events, which may hold many each, in {launches:and}: not comparable",
	code.Unlooked:       "answers{subject? of {subject}} were not checked (coherence = \"off\")",
	code.AnswersGarbage: "answers of {subject} are not readable text: {causes}, in launch {launch}",
	code.Unrecorded:     "no answers of {subject} to {workload} are recorded to compare with those of {other}",
	code.Unpaired:       "{subject} was not answered by both {one} and {other}: nothing to compare",
	code.Worse:          "answers of {subject} to {cell} are worse than those of {other} ({answers} of {of})",
	code.MaybeWorse:     "answers of {subject} to {cell} may be worse than those of {other} ({answers} of {of}: too few to tell)",

	code.NoFingerprint: "launch {subject} has no fingerprint of its environment, so it cannot be compared; --rerun measures again",
	code.EntryDiffers: func(r verdict.Reason) string {
		return fmt.Sprintf("%s is %s in launch %s and %s in launch %s", r.Subject, entry(r.Args["value"]), r.Args["one"].Text, entry(r.Args["other_value"]), r.Args["other"].Text)
	},
	code.EnvironmentChanged: "launches of {subject} ran in different environments: {causes}" + makeSame,
	code.EnvironmentApart:   "{subject} and {other} ran in different environments: {causes}" + makeSame,

	code.SaysOtherwise: "launches of {subject} differ in {name}: {value} in launch {one}, {other_value} in launch {other}; it depends on something outside the plan",
	code.DiffersUntested: func(r verdict.Reason) string {
		names, values, others := r.Args["names"].List, r.Args["values"].List, r.Args["other_values"].List
		var apart, quoted, knobs []string
		for i := range min(len(names), len(values), len(others)) {
			apart = append(apart, fmt.Sprintf("%s is %s against %s", names[i], values[i], others[i]))
			quoted = append(quoted, strconv.Quote(names[i]))
		}
		for _, k := range r.Args["knobs"].List {
			knobs = append(knobs, fmt.Sprintf("knob %q", k))
		}
		text := fill("{subject} and {other} differ in something the plan does not declare: ", r) + strings.Join(apart, "; ") + "."
		if len(knobs) == 0 {
			return text
		}
		them := "it"
		if len(names) > 1 {
			them = "them"
		}
		return text + fmt.Sprintf(" If %s is meant to change %s, add changes = [%s] there; otherwise make both the same.", strings.Join(knobs, " or "), them, strings.Join(quoted, ", "))
	},
	code.ConsequenceDiffers: "{subject}: {name} {value}, {other} {other_value}{change? ({change})}",
	code.ConsequenceLarge:   "{subject}: {name} {value}, {other} {other_value}{change? ({change})}: a large difference",

	code.TreeMoved: func(r verdict.Reason) string {
		return fill("{subject} changed between launch {one} and launch {other}, in ", r) + changes(r) + ": do not touch it while measuring, or measure a commit with a source block"
	},
	code.TreeMovedBefore: "{subject} changed before launch {launch}, after its state was recorded: apply again",
	code.FileMovedSince:  "{subject}, which an engine here may run, was changed, made or removed while it was measured, or after: find out what did it (an engine may have), and apply again",
	code.TreeChanged:     func(r verdict.Reason) string { return "tree " + r.Subject + " changed in " + changes(r) },
	code.FilesChanged:    func(r verdict.Reason) string { return fill("{subject} runs other files than before: ", r) + changes(r) },
	code.Unidentified:    "{subject} cannot be identified ({why}): its launches of an earlier apply are not reused, unless --reuse says that it is the same",
	code.TreeUnhashed:    "tree {subject} cannot be hashed: {error}",
}

// slowedBy is what slows a GPU down, by the driver's name.
func slowedBy(name string) string {
	words := map[string]string{
		"sw_thermal_slowdown": "software thermal slowdown", "hw_thermal_slowdown": "hardware thermal slowdown",
		"hw_power_brake_slowdown": "power brake", "hw_slowdown": "hardware slowdown",
	}
	if w, known := words[name]; known {
		return w
	}
	return "unknown reason " + name
}

const (
	fromStart = "{from_start?, from its beginning}"
	makeSame  = ".{advised! Make them the same and measure again, or list what may differ in accept_fingerprint of the baseline}"
)

// longDigest is a digest or a commit.
var longDigest = regexp.MustCompile(`\b[0-9a-f]{40,64}\b`)

// entry is a value of a fingerprint; digests are shortened, but remain distinguishable.
func entry(v verdict.Value) string {
	if !present(v) {
		return "unknown (see missing in its YAML file)"
	}
	return longDigest.ReplaceAllStringFunc(v.Text, func(digest string) string { return digest[:12] })
}

// changes is what differs in a working tree.
func changes(r verdict.Reason) string {
	if present(r.Args["lost"]) {
		return "files that cannot be named, because a recorded diff is gone"
	}
	const most = 10
	text := "files that no diff names"
	if files := r.Args["files"].List; len(files) > most {
		text = fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), len(files)-most)
	} else if len(files) > 0 {
		text = strings.Join(files, ", ")
	}
	return text + fill("{commit? (commit {commit}, before {before})}", r)
}
