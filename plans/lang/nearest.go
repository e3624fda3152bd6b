package lang

import (
	"fmt"
	"strings"
)

// NearestOrAll is what stands behind a name that is not known: the nearest one, or
// what there is.
func NearestOrAll(given string, known []string) string {
	if best := Nearest(given, known); best != "" {
		return fmt.Sprintf(". Did you mean %q?", best)
	}
	if len(known) == 0 {
		return ""
	}
	const most = 12
	more := ""
	if len(known) > most {
		more = fmt.Sprintf(" and %d more", len(known)-most)
	}
	return ". There is: " + strings.Join(known[:min(most, len(known))], ", ") + more + "."
}
