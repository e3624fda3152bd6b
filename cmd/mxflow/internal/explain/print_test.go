package explain

import "testing"

func TestSpans(t *testing.T) {
	for want, numbers := range map[string][]int{"3": {3}, "3 and 4": {3, 4}, "3, 4, 7 and 12 to 16": {3, 4, 7, 12, 13, 14, 15, 16}, "1 to 3": {1, 2, 3}} {
		if got := spans(numbers); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
