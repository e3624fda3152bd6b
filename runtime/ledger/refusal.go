package ledger

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Refusal is something that a proposer asked for and is not allowed. It changes nothing,
// but puts the attempt on record.
type Refusal struct {
	// By is what refused it: "sealed", "proposer" or "mcp".
	By string `json:"by"`
	// User is who ran mxflow, by the system's user name.
	User string `json:"user,omitempty"`
	// Asked is the command or tool, and Given the names of its flags, without values.
	Asked string   `json:"asked"`
	Given []string `json:"given,omitempty"`
	// Why are the reasons, only the first ones of long lists.
	Why []verdict.Reason `json:"why"`
	// Last is set if later ones, until the next run, are not recorded.
	Last bool `json:"last,omitempty"`
}

// MostReasons is the maximum of reasons that a refusal keeps.
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

// Same reports whether the same request was refused for the same reasons.
func (r *Refusal) Same(o *Refusal) bool {
	a, b := *r, *o
	a.Last, b.Last = false, false
	return reflect.DeepEqual(a, b)
}
