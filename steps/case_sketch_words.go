package steps

import (
	"slices"

	"github.com/mxflow/mxflow/plans"
)

// wordsFor are the words that an input may be, the usual ones first.
func (s *sketch) wordsFor(in *plans.Input, constant any) []string {
	switch {
	case in.Type == plans.BoolInput:
		return []string{"true", "false"}
	case in.Kind == plans.InputLevel, in.Kind == plans.InputFeature:
		return []string{"pass", "fail", "inconclusive"}
	case in.Kind == plans.InputKnob:
		var names []string
		if k := s.plan.Knob(in.Name); k != nil {
			for _, v := range k.Values {
				names = append(names, v.Name)
			}
		}
		return names
	}
	var words []string
	for _, c := range listOf(constant) {
		if w, ok := c.(string); ok {
			words = append(words, w)
		}
	}
	return append(words, "something else")
}

func listOf(constant any) []any {
	if list, ok := constant.([]any); ok {
		return list
	}
	return []any{constant}
}

// saysSo reports whether a comparison of words holds.
func saysSo(op, word string, constant any) bool {
	equal := slices.ContainsFunc(listOf(constant), func(c any) bool {
		b, isTruth := c.(bool)
		return c == word || isTruth && b == (word == "true")
	})
	return equal != (op == "!=")
}

// countFor is a count for which a comparison holds, or does not; nil where none
// was found. The usual ones are tried first.
func countFor(op string, constant any, wanted bool, usual ...float64) *float64 {
	tries := usual
	for _, c := range listOf(constant) {
		if n, ok := c.(float64); ok {
			tries = append(tries, n, n+1, n-1)
		}
	}
	for _, n := range tries {
		holds := false
		for _, c := range listOf(constant) {
			x, _ := c.(float64)
			switch op {
			case "<":
				holds = n < x
			case "<=":
				holds = n <= x
			case ">":
				holds = n > x
			case ">=":
				holds = n >= x
			case "!=":
				holds = n != x
			default:
				holds = holds || n == x
			}
		}
		if n >= 0 && holds == wanted {
			return &n
		}
	}
	return nil
}
