package plans

import "time"

// checkWorkload looks for what is right by itself and makes no sense together.
func (w *Workload) checkWorkload(f *body) {
	w.checkPace(f)
	w.checkPrompts(f)
	w.checkData(f)
	w.checkRoom(f)
	for _, c := range w.Concurrency {
		if f.given("requests") != "" && w.Requests < c {
			f.l.fail(f.at("requests"), "Too few requests for the concurrency", "%d requests never are %d at once. Set requests = %d or more, or leave it out.", w.Requests, c, 4*c)
			break
		}
	}
	if w.Temperature == 0 {
		if name := f.given("top_p", "top_k", "min_p"); name != "" {
			f.l.warn(f.at(name), "Sampling has no effect", "With temperature 0 the likeliest token is taken, whatever %s says. Set a temperature, or remove %s.", name, name)
		}
	}
}

// minDuration is how long a cell is sent at least: in less, a request or two go
// out, and a comparison of those says what happened by chance.
const minDuration = time.Second

func (w *Workload) checkPace(f *body) {
	if w.Duration > 0 && w.Duration < minDuration {
		f.l.fail(f.at("duration"), "Duration is too short", "A duration below a second measures nothing, and this is %s. Set duration = \"30s\", or another of 1s or more, or remove it and say how many requests are sent.", w.Duration)
	}
	noUse := func(name, format string, args ...any) {
		f.l.fail(f.at(name), "No use in this workload", format, args...)
	}
	if f.given("concurrency") != "" && w.open() {
		other := f.given("rate", "arrival")
		f.l.fail(f.at("concurrency"), "Two ways to pace", "concurrency sends when an answer has made place, and %s by the clock. Remove one of them; max_concurrency caps an open loop.", other)
	}
	if w.Arrival == "trace" {
		if w.Data == nil {
			noUse("arrival", "A trace sends at the times of a dataset. Add: dataset { file = \"trace.jsonl\" }, on lines of its own, or choose another arrival.")
		}
		if name := f.given("rate", "rate_to"); name != "" {
			noUse(name, "A trace brings its own times, so %s says nothing. Remove it, or choose another arrival.", name)
		}
	} else if len(w.Rate) == 0 {
		for _, name := range []string{"rate_to", "arrival", "max_concurrency"} {
			if !f.absent(name) {
				noUse(name, "%s is of requests that are sent by the clock. Add rate, the requests a second, or remove %s.", name, name)
			}
		}
	}
	switch {
	case w.Arrival == "gamma" && f.absent("burstiness"):
		f.l.fail(f.at("arrival"), "Missing burstiness", "Gamma arrivals need burstiness: the shape, such as 0.5; 1 is poisson.")
	case w.Arrival != "gamma" && !f.absent("burstiness"):
		noUse("burstiness", "burstiness is the shape of gamma arrivals. Set arrival = \"gamma\", or remove it.")
	}
	for _, rate := range w.Rate {
		if rate == w.RateTo {
			noUse("rate_to", "The rate begins with %g a second, so that there is no ramp. Remove rate_to, or give another rate.", rate)
		}
	}
	if w.open() && !f.absent("min_reached") {
		noUse("min_reached", "It is a share of concurrency, and requests of this workload are sent by the clock. Remove it.")
	}
}

func (w *Workload) checkPrompts(f *body) {
	noUse := func(name, format string, args ...any) {
		f.l.fail(f.where(name), "No use in this workload", format, args...)
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
			if !f.absent(name) {
				noUse(name, "What is sent stands in the dataset. Remove %s, or the dataset.", name)
			}
		}
	}
	cached := w.DepthCached
	for _, d := range w.Depth {
		cached = cached && d == 0
	}
	if cached {
		noUse("depth_cached", "There is no context that could be cached. Set depth = 4096, or another number of tokens, or remove it.")
	}
}
