package verdict

import "strings"

// And joins names as a sentence does: "a, b and c".
func And(names []string) string { return Joined(names, "and") }

// Joined are names with a word before the last of them.
func Joined(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}
