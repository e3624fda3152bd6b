package gates

import (
	"fmt"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// readObserved reads a word or a truth that the candidate's engine says of
// itself. All its launches have to say it, and the same: what one of them does
// not say might have been anything.
func readObserved(r *reading, in *plans.Input, f *Feature) *reading {
	if f.Broken != "" {
		return r.missing(f.Broken, "%s", f.Cause)
	}
	launches := f.Candidate.Launches
	if len(launches) == 0 {
		r.unmeasured, r.Pending = true, true
		return r.missing(verdict.Inconclusive, "no launch of %s was measured", f.Candidate.Name)
	}
	var value any
	for _, l := range launches {
		v, ok := l.Observed[in.Name]
		switch {
		case !ok || v == nil:
			return r.missing(verdict.Inconclusive, "launch %s did not observe %s: %s", l.ID, in.Name, why(l.Unobserved[in.Name]))
		case value != nil && v != value:
			return r.missing(verdict.Invalid, "launches of %s differ: %s is %s in launch %s and %s in launch %s",
				f.Candidate.Name, in.Name, said(value), launches[0].ID, said(v), l.ID)
		}
		value = v
	}
	r.N = len(launches)
	switch v := value.(type) {
	case string:
		if in.Type == plans.WordInput {
			return r.word(v)
		}
	case bool:
		if in.Type == plans.BoolInput {
			return r.word(strconv.FormatBool(v))
		}
	}
	return r.missing(verdict.Invalid, "%s was observed as %s, which is not a %s", in.Name, said(value), in.Type)
}

func why(text string) string {
	if text == "" {
		return "it was not looked for"
	}
	return text
}

// said is an observed value as messages show it.
func said(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		return format(v, "", 0)
	}
	return fmt.Sprint(value)
}
