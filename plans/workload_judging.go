package plans

import "time"

var judgingAttrs = []Attr{
	{Name: "latency_correction", Type: String, Default: "none", OneOf: []string{"none", "api", "generation"}, Doc: "What is subtracted from the time to the first token in metrics that say so, as llama-benchy has it: the time of a call that generates nothing (api), or of one that generates one token (generation). The uncorrected numbers are always kept."},
	{Name: "coherence", Type: String, OneOf: []string{"baseline", "absolute", "off"}, Doc: "How answers are checked, so that garbage cannot win: absolute looks at each answer, baseline asks that they are no worse than the parent's to the same prompts. Without it, baseline where `ignore_eos` forces lengths and absolute where answers end by themselves."},
	{Name: "retries", Type: Int, Default: 0.0, MinSet: true, Max: 100, Doc: "How often a request is sent again that the engine puts off (status 429 or 503 with Retry-After). The time that this takes counts."},
	{Name: "max_errors", Type: Int, Default: 0.0, Unit: "requests", MinSet: true, Max: maxRequests, Doc: "How many measured requests of a cell may fail before the launch does."},
	{Name: "max_lag", Type: Duration, Doc: "How late the measuring client may send, or be woken (99th percentiles), before what it measured is invalid. Without it 10ms; 100ms for the embedded engine, which shares the client's processors."},
	{Name: "min_reached", Type: Number, Default: 0.8, MinSet: true, Max: 1, Doc: "Share of `concurrency` that the engine must really reach, by its own count, or the cell is invalid; 0 asks for nothing."},
	{Name: "request_timeout", Type: Duration, Default: "2m", Doc: "Time limit of one request."},
	{Name: "first_timeout", Type: Duration, Default: "10m", Doc: "Time limit of the first request after a start, which may compile kernels, to its first token."},
	{Name: "stall_timeout", Type: Duration, Default: "30s", Doc: "Longest wait between two events of a stream, from the first token on."},
}

// Objectives are the metrics that a request can be good by.
var Objectives = []string{"ttft", "tpot", "itl", "e2e"}

var sloDoc = &BlockDoc{
	Type: "slo", Times: AtMost1,
	Doc: "What makes a request a good one: it keeps all of these limits. Goodput counts good requests.",
	Attrs: []Attr{
		{Name: "ttft", Type: Duration, Doc: "Most time to the first token."},
		{Name: "tpot", Type: Duration, Doc: "Most time per output token after the first."},
		{Name: "itl", Type: Duration, Doc: "Most time between any two tokens."},
		{Name: "e2e", Type: Duration, Doc: "Most time to the last token."},
	},
	Example: `slo {
  ttft = "300ms"
  tpot = "50ms"
}`,
}

var sloSchema = sloDoc.schema()

func (w *Workload) decodeJudging(f *body) {
	w.LatencyCorrection = f.oneOf("latency_correction", "none", "none", "api", "generation")
	w.Coherence = "absolute"
	if w.IgnoreEOS {
		w.Coherence = "baseline"
	}
	w.Coherence = f.oneOf("coherence", w.Coherence, "baseline", "absolute", "off")
	w.Retries = f.whole("retries", 0, 0, 100)
	w.MaxErrors = f.whole("max_errors", 0, 0, maxRequests)
	w.MaxLag = f.duration("max_lag", 0)
	w.MinReached = f.number("min_reached", 0.8, 0, 1)
	w.RequestTimeout = f.duration("request_timeout", 2*time.Minute)
	w.FirstTimeout = f.duration("first_timeout", 10*time.Minute)
	w.StallTimeout = f.duration("stall_timeout", 30*time.Second)
	w.SLO = f.slo()
}

func (f *body) slo() map[string]time.Duration {
	b := f.single("slo")
	if b == nil {
		return nil
	}
	in := f.l.fields(b, sloSchema, "slo")
	limits := map[string]time.Duration{}
	written := false
	for _, name := range Objectives {
		written = written || !in.absent(name)
		if d := in.duration(name, 0); d > 0 {
			limits[name] = d
		}
	}
	if !written {
		f.l.fail(b.DefRange, "Empty slo", `By these every request is a good one. Give a limit, such as ttft = "300ms".`)
	}
	return limits
}
