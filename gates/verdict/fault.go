package verdict

import (
	"errors"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Fault is a fact on its way as an error, where what cannot go on has nobody to hand a
// decision to. Its text is for whoever debugs; people are shown the fact.
type Fault struct{ Reason Reason }

func (f *Fault) Error() string { return f.Reason.Key() }

// OfError is the fact behind an error: the one that it carries, or that something
// broke, with the error in its own words.
func OfError(err error) Reason {
	if f := (*Fault)(nil); errors.As(err, &f) {
		return f.Reason
	}
	return New(code.Broken, Err(err))
}
