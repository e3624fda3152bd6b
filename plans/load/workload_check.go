package load

import (
	"time"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
)

// checkWorkload checks for settings that are valid alone but make no sense together.
func checkWorkload(w *plans.Workload, f *eval.Body) {
	checkPace(w, f)
	checkPrompts(w, f)
	checkData(w, f)
	checkRoom(w, f)
	for _, c := range w.Concurrency {
		if f.Given("requests") != "" && w.Requests < c {
			f.Scope.Fail(f.At("requests"), "workload-contradiction", "Too few requests for the concurrency", "%d requests cannot keep %d in flight. Set requests = %d or more, or leave it out.", w.Requests, c, 4*c)
			break
		}
	}
	for _, of := range []struct {
		name  string
		value float64 // 0 is not sent
	}{{"top_p", w.TopP}, {"top_k", float64(w.TopK)}, {"min_p", w.MinP}} {
		if w.Temperature == 0 && of.value != 0 {
			f.Scope.Warn(f.At(of.name), "no-use-in-workload", "Sampling has no effect", "At temperature 0 the likeliest token is always taken, whatever %s is. Set a temperature, or remove %s.", of.name, of.name)
			break
		}
	}
}

// minDuration is the least duration of a cell: in less, only a request or two are sent,
// and a comparison of those shows only chance.
const minDuration = time.Second

func checkPace(w *plans.Workload, f *eval.Body) {
	if w.Duration > 0 && w.Duration < minDuration {
		f.Scope.Fail(f.At("duration"), "duration-too-short", "Duration is too short", "A duration must be at least 1s, not %s. Set duration = \"30s\", or use requests instead.", w.Duration)
	}
	noUse := func(name, format string, args ...any) {
		f.Scope.Fail(f.At(name), "no-use-in-workload", "Argument has no effect", format, args...)
	}
	if f.Given("concurrency") != "" && w.Open() {
		other := f.Given("rate", "arrival")
		f.Scope.Fail(f.At("concurrency"), "workload-contradiction", "Two ways to pace", "concurrency paces by answers (closed loop), %s by a schedule (open loop). Remove one; max_concurrency caps an open loop.", other)
	}
	if len(w.Rate) == 0 {
		for _, name := range []string{"arrival", "max_concurrency"} {
			if !f.Absent(name) {
				noUse(name, "%s only applies to requests sent on schedule. Add rate, in requests per second, or remove %s.", name, name)
			}
		}
	}
}

func checkPrompts(w *plans.Workload, f *eval.Body) {
	noUse := func(name, format string, args ...any) {
		f.Scope.Fail(f.Where(name), "no-use-in-workload", "Argument has no effect", format, args...)
	}
	if w.API == "completions" {
		switch {
		case w.Turns > 1:
			noUse("turns", "Completions have no conversations. Set api = \"chat\", or remove turns.")
		case w.SystemTokens > 0:
			noUse("system_tokens", "Completions have no system prompt. Set api = \"chat\", or remove it; depth is text before each prompt.")
		case !w.CountTemplate:
			noUse("count_template", "Completions have no chat template. Set api = \"chat\", or remove it.")
		}
	} else if w.Prompts == "random" {
		noUse("prompts", "Chats are text, and random prompts are token ids. Set api = \"completions\", or remove prompts.")
	}
	if w.Data != nil {
		for _, name := range []string{"prompts", "system_tokens", "depth"} {
			if !f.Absent(name) {
				noUse(name, "The dataset determines what is sent. Remove %s, or the dataset.", name)
			}
		}
	}
	cached := w.DepthCached
	for _, d := range w.Depth {
		cached = cached && d == 0
	}
	if cached {
		noUse("depth_cached", "There is no context to cache. Set depth = 4096, or another number of tokens, or remove it.")
	}
}

// What one client can make for a cell before the first request is sent, as bounded by the
// package that makes prompts (engine/load/prompt: mostInAll and mostMessages;
// plans.MaxTokens is its mostInOne). It is refused here too, before an engine is started
// for it.
const (
	maxCellTokens   = 400_000_000
	maxCellMessages = 4_000_000
)

// checkRoom refuses cells whose prompts are more than can be made. For drawn lengths the
// least counts, and a file is checked when it is sent, so what passes here may still be
// refused there.
func checkRoom(w *plans.Workload, f *eval.Body) {
	for _, cell := range w.Cells() {
		n, turns := cell.Requests+cell.Warmup, max(1, w.Turns)
		if n*turns > maxCellMessages {
			f.Scope.Fail(f.Def, "too-much-to-send", "More than can be sent", "%s has %d requests, warm-up included, of up to %d turns each: %d messages. All messages of a cell are generated in advance, at most %d. Lower requests (or the rate or duration that they follow from), or turns.",
				cell.Address, n, turns, n*turns, maxCellMessages)
			return
		}
		if w.Data != nil {
			continue
		}
		prompt := cell.Prompt
		if w.PromptLengths != nil {
			prompt = w.PromptLengths.Min
		}
		one := cell.Depth + w.SystemTokens + turns*prompt
		switch {
		case one > plans.MaxTokens:
			f.Scope.Fail(f.Def, "too-much-to-send", "More than can be sent", "A prompt of %s has %d tokens including its context, but at most %d can be generated. Lower prompt_tokens, depth, system_tokens or turns.", cell.Address, one, plans.MaxTokens)
			return
		case n*one > maxCellTokens:
			f.Scope.Fail(f.Def, "too-much-to-send", "More than can be sent", "%s has %d prompts, warm-up included, of %d tokens each, including their context: %d tokens. All prompts of a cell are generated in advance, at most %d. Lower requests (or the rate or duration that they follow from), or the lengths.",
				cell.Address, n, one, n*one, maxCellTokens)
			return
		}
	}
}
