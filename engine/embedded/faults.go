package embedded

import (
	"fmt"
	"strconv"
	"strings"
)

// Faults are ways to fail on request, so that what watches an engine can be
// tested against a real process. Token counts are totals over all requests
// since the start.
type Faults struct {
	CrashAfter int  // the process exits with 1 after so many generated tokens; 0 is never
	StallAfter int  // after so many generated tokens nothing more is emitted until clients leave
	NaN        bool // a layer writes NaN: all logits are NaN, every token is token 0, "!"
	Garbage    bool // tokens are drawn at random, at full speed
	HTTP500    bool // completions answer 500
	OOM        bool // loading fails for want of memory
	Malformed  bool // stream events break off in the middle of their JSON
	NeverReady bool // loading never ends
	Refuse     int  // the first so many requests for more than one token answer 429
	RetryAfter int  // seconds that their Retry-After says
}

// faultForms lists the accepted spellings.
func faultForms() []string {
	return []string{"crash_after:N", "stall_after:N", "nan", "garbage", "http_500", "oom", "malformed", "never_ready", "retry_after:N"}
}

// ParseFaults reads a comma-separated list such as "crash_after:20,nan".
func ParseFaults(list string) (Faults, error) {
	var f Faults
	for _, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		name, count, counted := strings.Cut(item, ":")
		flags := map[string]*bool{
			"nan": &f.NaN, "garbage": &f.Garbage, "http_500": &f.HTTP500,
			"oom": &f.OOM, "malformed": &f.Malformed, "never_ready": &f.NeverReady,
		}
		counts := map[string]*int{"crash_after": &f.CrashAfter, "stall_after": &f.StallAfter}
		switch {
		case item == "":
		case name == "retry_after":
			if !f.parseRefusal(count) {
				return Faults{}, fmt.Errorf("%s: %q needs a number of requests, and may give seconds, as in retry_after:20 or retry_after:20:1", envFault, item)
			}
		case flags[name] != nil && !counted:
			*flags[name] = true
		case counts[name] != nil:
			n, err := strconv.Atoi(count)
			if err != nil || n < 1 {
				return Faults{}, fmt.Errorf("%s: %q needs a number of tokens, as in %s:20", envFault, item, name)
			}
			*counts[name] = n
		default:
			return Faults{}, fmt.Errorf("%s: no fault is named %q: use %s", envFault, item, strings.Join(faultForms(), ", "))
		}
	}
	return f, nil
}

// parseRefusal reads "requests" or "requests:seconds".
func (f *Faults) parseRefusal(text string) bool {
	requests, seconds, given := strings.Cut(text, ":")
	var err error
	if f.Refuse, err = strconv.Atoi(requests); err != nil || f.Refuse < 1 {
		return false
	}
	if given {
		f.RetryAfter, err = strconv.Atoi(seconds)
	}
	return err == nil && f.RetryAfter >= 0
}
