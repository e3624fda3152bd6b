package verdict

import (
	"fmt"
	"strings"
)

// Launches counts launches in words.
func Launches(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}

// Because are reasons as they stand behind what they explain: ": one; another", and
// nothing where there are none.
func Because(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	return ": " + strings.Join(reasons, "; ")
}

// And joins names as a sentence does: "a, b and c".
func And(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
