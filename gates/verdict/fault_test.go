package verdict

import (
	"errors"
	"fmt"
	"testing"
)

// TestOfError: a fact comes out of an error as it went in, however it was wrapped, and
// any other error is kept in its own words.
func TestOfError(t *testing.T) {
	fact := Say("undecided", "{subject} is undecided").On("feature.x").From(Say("broken", "{error}", Text("error", "no")))
	for _, err := range []error{&Fault{fact}, fmt.Errorf("on the way: %w", &Fault{fact}), errors.Join(&Fault{fact}, errors.New("gone"))} {
		if got := OfError(err); !got.Equal(fact) {
			t.Errorf("%v: %+v", err, got)
		}
	}
	if got := OfError(errors.New("no space left")); !got.Equal(Say("broken", "{error}",
		Text("error", "no space left"))) {
		t.Errorf("%+v", got)
	}
}

// TestFromNothing: an empty reason is not a cause.
func TestFromNothing(t *testing.T) {
	if r := Say("undecided", "{subject} is undecided").From(Reason{}, Say("first", "first"), Reason{}); len(r.Causes) != 1 || r.From(Reason{}).Causes != nil {
		t.Errorf("%+v", r)
	}
}
