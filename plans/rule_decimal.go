package plans

import "regexp"

var commaNumber = regexp.MustCompile(`\b[0-9]+,[0-9]+\b`)

// decimalComma is where a number stands with a comma in it; nil where there is none.
// In lists, and among what a function is given, commas stand between numbers.
func decimalComma(src string) []int {
	for _, at := range commaNumber.FindAllStringIndex(src, -1) {
		if !amongSeveral(src[:at[0]]) {
			return at
		}
	}
	return nil
}

var (
	callOpens  = regexp.MustCompile(`\w\s*\($`)
	groupOpens = regexp.MustCompile(`\b(and|or|not|in)\s*\($`)
)

// amongSeveral reports whether a list or a call is open at the end of a text.
func amongSeveral(before string) bool {
	var open []bool
	several := 0
	for i := range len(before) {
		switch before[i] {
		case '[', '(':
			upTo := before[:i+1]
			many := before[i] == '[' || callOpens.MatchString(upTo) && !groupOpens.MatchString(upTo)
			if open = append(open, many); many {
				several++
			}
		case ']', ')':
			if n := len(open); n > 0 {
				if open[n-1] {
					several--
				}
				open = open[:n-1]
			}
		}
	}
	return several > 0
}
