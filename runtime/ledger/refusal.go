package ledger

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Refusal is something that a proposer asked for and may not do. It changes nothing; who
// reads the record sees what was tried.
type Refusal struct {
	// By is by what it was refused: "sealed", "proposer" or "mcp".
	By string `json:"by"`
	// User is who ran mxflow, as the system calls them.
	User string `json:"user,omitempty"`
	// Asked is the command or tool, and Given the names of its flags, without values.
	Asked string   `json:"asked"`
	Given []string `json:"given,omitempty"`
	// Why are what stood against it, of long lists the first.
	Why []verdict.Reason `json:"why"`
	// Last is set where later ones, until the next run, are not on record.
	Last bool `json:"last,omitempty"`
}

// MostReasons are the most reasons that a refusal keeps.
const MostReasons = 5

func (r *Refusal) check() error {
	switch {
	case r.By == "" || r.Asked == "":
		return errors.New("is a refusal without what was refused, or by what")
	case len(r.Why) == 0 || len(r.Why) > MostReasons:
		return fmt.Errorf("is a refusal with %d reasons, required 1 to %d", len(r.Why), MostReasons)
	}
	return nil
}

// Same reports whether the same was refused for the same reasons.
func (r *Refusal) Same(o *Refusal) bool {
	a, b := *r, *o
	a.Last, b.Last = false, false
	return reflect.DeepEqual(a, b)
}
