package tell

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var launchPhrases = phrases{
	code.LaunchBroke: "{error}{causes?; {causes}}",
	code.EngineDied:  "the engine died ({exit}) while it answered: {error}{causes?; {causes}}",
	code.EngineEnded: "the engine ended by itself ({exit}){causes?; {causes}}",
	code.Diagnosed:   "{means} [{class}, log line {line_no}: {line}]",
	code.TreeFrozen: func(r verdict.Reason) string {
		return fmt.Sprintf("tree %s could not be used: it is frozen, and differs from what it was at the latest launch on record in %s: put that back, or take freeze out of the plan to measure it anew", r.Subject, changes(r))
	},

	code.Stopping: "stopping: {error}",
	code.NotKept: func(r verdict.Reason) string {
		what := map[string]string{"output": "its output", "log": "the log", "metadata": "the launch's metadata"}[r.Subject]
		return fmt.Sprintf("%s could not be kept: %s", what, r.Args["error"].Text)
	},
	code.LogRemoved:      "the log was removed, since sensitive values could not be taken out of it: {error}",
	code.NothingObserved: "nothing was observed: {error}",
	code.Unobserved:      "{why}",
	code.CachesCold:      "the caches of this variant were empty before this launch: it is cold in fact, though the plan says warm",
	code.TreeUnrecorded:  "the working tree {subject}, which the engine sees, is not on record: {error}",
	code.Watched:         "{text}",

	code.GPUShared:       "shared GPU: {by} after the engine had stopped",
	code.GPUUnseen:       "it could not be seen whether the GPU's memory was given back: {error}",
	code.GPUNotGivenBack: "memory of the GPU was not given back within {within}: {by}",
	code.GPUWait:         "waiting up to {wait} for the GPU: {until}",
	code.GPULockWait:     "waiting up to {wait}: {until}",
	code.GPUUnlisted:     "no GPU is locked or waited for, since they cannot be listed: {error}",
	code.GPUUncertain:    "which GPUs CUDA_VISIBLE_DEVICES means is not certain, since they differ and CUDA counts them by speed: all are taken. Set CUDA_DEVICE_ORDER = \"PCI_BUS_ID\", or name UUIDs",

	code.ClientNotGood:  "the measuring client is not good enough: {why}",
	code.Disturbed:      "{text}",
	code.SentLate:       "{subject}: the client sent requests up to {max:3} after they were due (p99 {p99:3}), and {limit} is allowed: it could not keep up with the schedule",
	code.WokenLate:      "{subject}: the client was woken up to {max:3} late (p99 {p99:3}), and {limit} is allowed: what it measured is of this machine as much as of the engine; end what else runs here, measure from another machine, or {flag?allow more with {flag}}{flag!declare a wider max_lag}",
	code.HeldBack:       "{requests} of {of} answers of {subject} came in one piece, after up to {longest:3} without a token, so that ttft, itl and tg say when they were let go and not how fast they were made: a proxy that buffers, or a server without processor time to send, keeps them back",
	code.TooFewAtOnce:   "{subject} asked for {asked} requests at once, and the engine reached {reached:3} (by its {by}'s count): it queues what is more; look at its limit of sequences, or ask for less",
	code.ReachUnknown:   "whether {subject} really had {asked} requests at once is not known: {why}{why!its answers came in one piece, which does not show how many were made at once}",
	code.FromCache:      "prompts were partly answered from a cache: {requests} of {of} requests of {subject}, {tokens} tokens, which makes prefill look fast; start the engine with its prefix cache off, or declare what prompts share (system_tokens, depth_cached, turns)",
	code.PrefixHits:     "prompts were partly answered from a cache: by its own counters the engine found {share:3} of the prompt tokens of {subject} in its prefix cache, which makes prefill look fast; start the engine with its prefix cache off, or send prompts that it has not seen (another seed)",
	code.CacheUnknown:   "whether prompts of {subject} were answered from a cache is not known of {unknown} of {of} requests: started with {flag} the engine says it",
	code.TemplateCached: "{requests} of {of} requests of {subject} had a few cached tokens, as from a fixed chat template",
	code.ContextLost:    "{subject} was to find its context in the engine's prefix cache, and {requests} of {of} requests did not, by {tokens} tokens: is prefix caching on, and large enough?",
	code.ContextUnknown: "whether {subject} found its context in the engine's prefix cache is not known of {unknown} of {of} requests",
	code.Short:          "{requests} of {of} answers of {subject} were shorter than asked for, by {tokens} tokens in all",
	code.Overlong:       "{requests} of {of} answers of {subject} have more tokens than were asked for, such as {most} where {asked} were: the server does not keep to max_tokens, or counts what it did not send, so that its speeds are of other work",
	code.LengthUnknown:  "how long prompts of {subject} were is not known of {unknown} of {of} requests: the engine did not count them, or not with a number that can be (counted by: {method})",
	code.LengthOther:    "prompts of {subject} were {least?{least} to }{most} tokens long instead of {want}{want!what was asked for} (counted by: {method})",
	code.ByEvents:       "tokens of {subject} were counted as stream events, because the engine does not count them",
	code.Doubtful: func(r verdict.Reason) string {
		if n := r.Args["answers"].Number; n != nil && *n == 1 {
			return fill("one answer of {subject} is doubtful, request {request}: {doubts}", r)
		}
		return fill("{answers} answers of {subject} are doubtful, such as request {request}: {doubts}", r)
	},
	code.PromptTokens: "the prompts of {subject} are {own} of its tokens, and {reference} of the reference's",

	code.Garbage:       "{subject?{subject} }request {request}{turn?, turn {turn}}: {causes} ({excerpt:q})",
	code.Circles:       "{answers} of {of} answers turn in circles or are empty where the parent's do not, and {reverse} the other way round, such as request {request}{turn?, turn {turn}}: {causes} ({excerpt:q})",
	code.RandomWording: "the wording is more surprising than the parent's by {bits:3} bits a character over {prompts} prompts, as words at random are",
	code.ParentRandom:  "the wording differs from the parent's by {bits:3} bits a character over {prompts} prompts, but it is the parent's that is more like words at random",
	code.Unlike:        "{answers} of {of} answers are worded unlike the parent's",

	code.SignEmpty:      "empty" + fromStart,
	code.SignOnlyBroken: "nothing but replacement characters" + fromStart,
	code.SignBroken:     "{count} of {of} characters are replacement, control or private ones" + fromStart,
	code.SignNotNumbers: "{count} of {of} words are NaN or infinite" + fromStart,
	code.SignOneWord:    "{text:q} is {count} of {of} words" + fromStart,
	code.SignRepeated:   "{text:q} again and again" + fromStart,
	code.SignTooEven:    "character entropy of {bits:3} bits, less than any text has" + fromStart,
	code.SignTooRandom:  "character entropy of {bits:3} bits, more than any text has" + fromStart,
	code.SignLooped:     "{share:2} of it repeats what came before" + fromStart,

	code.LaunchSays:     "launch {subject}",
	code.NoteOf:         "{subject}",
	code.LaunchesNote:   "{launches} of {of} launches",
	code.LaunchOf:       "launch {number} of {of}",
	code.CountUnknown:   "{subject}: {counted} says how many tokens it generated in every launch, and {not} does not: whether they did the same work is not known",
	code.UnequalWork:    "{subject}: {one} generated {lacks:3} less than was asked for, and {other} {other_lacks:3}: they did not do the same work",
	code.CountedApart:   "{subject}: tokens of {counted} were counted by the engine, and some of {not} as stream events, which may hold many each: their speeds cannot be compared",
	code.CountedMixed:   "{subject}: tokens were counted by the engine in some launches, and as stream events, which may hold many each, in {launches:and}: their speeds cannot be compared",
	code.Unlooked:       "answers of {subject} were not looked at, as the plan declares",
	code.AnswersGarbage: "answers of {subject} do not read as text: {causes}, in launch {launch}",
	code.MoreGarbage:    "{answers} answers{subject? of {subject} to {cell}} do not read as text, against {theirs} of {other}{other!the reference}",
	code.Unrecorded:     "none of the answers of {subject} to {workload} is on record, so they cannot be compared with those of {other}",
	code.Unpaired:       "no prompt of {subject} was answered by both {one} and {other}, so their answers cannot be compared",
	code.Worse:          "answers of {subject} to {cell} are worse than those of {other} to the same prompts, {answers} of {of}",
	code.MaybeWorse:     "answers of {subject} to {cell} may be worse than those of {other} ({answers} of {of}, which so few cannot show)",

	code.NoFingerprint: "launch {subject} has no fingerprint of its environment, so that nothing shows that it can be compared; measure again with --rerun",
	code.EntryDiffers: func(r verdict.Reason) string {
		return fmt.Sprintf("%s is %s in launch %s and %s in launch %s", r.Subject, entry(r.Args["value"]), r.Args["one"].Text, entry(r.Args["other_value"]), r.Args["other"].Text)
	},
	code.EnvironmentChanged: "launches of {subject} were not made in one environment: {causes}" + makeSame,
	code.EnvironmentApart:   "{subject} and {other} were not measured in one environment: {causes}" + makeSame,

	code.SaysOtherwise: "launches of {subject} differ in {name}: {value} in launch {one}, {other_value} in launch {other}; something that the plan does not hold decides over it",
	code.DiffersUntested: func(r verdict.Reason) string {
		text := fill("{subject} and {other} differ in what is not under test: {name} is {value} against {other_value}.", r)
		var knobs []string
		for _, k := range r.Args["knobs"].List {
			knobs = append(knobs, fmt.Sprintf("knob %q", k))
		}
		if len(knobs) == 0 {
			return text
		}
		return text + fmt.Sprintf(" If that is what %s is about, add to it: changes = [%q]. Otherwise make both the same.", strings.Join(knobs, " or "), r.Args["name"].Text)
	},

	code.TreeMoved: func(r verdict.Reason) string {
		return fill("the working tree {subject} changed between launch {one} and launch {other}, in ", r) + changes(r) + ": leave it alone while it is measured, or measure a commit with a source block"
	},
	code.TreeMovedBefore: "the working tree {subject} changed before launch {launch}, after its state was looked up: apply again",
	code.TreeChanged:     func(r verdict.Reason) string { return "tree " + r.Subject + " changed in " + changes(r) },
	code.TreeUnhashed:    "tree {subject} cannot be hashed: {error}",
}

const (
	fromStart = "{from_start?, from its beginning}"
	makeSame  = ".{advised! Make them the same and measure again, or list what may differ in accept_fingerprint of the baseline}"
)

// longDigest is a digest or a commit.
var longDigest = regexp.MustCompile(`\b[0-9a-f]{40,64}\b`)

// entry is a value of a fingerprint; digests are cut, which still tells them apart.
func entry(v verdict.Value) string {
	if !present(v) {
		return "not known (see missing in its YAML file)"
	}
	return longDigest.ReplaceAllStringFunc(v.Text, func(digest string) string { return digest[:12] })
}

// changes is what is different in a working tree.
func changes(r verdict.Reason) string {
	if present(r.Args["lost"]) {
		return "files that cannot be named, since a diff on record is gone"
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
