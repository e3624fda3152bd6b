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
