package ledger

import (
	"errors"
	"fmt"
	"regexp"
)

// Milestone names the end of a run: everything decided up to there. The record's Run is
// that run.
type Milestone struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
}

// milestoneName is short, and what a person can write on a command line.
var milestoneName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckMilestone reports whether a name is valid for a milestone.
func CheckMilestone(name string) error {
	switch {
	case name == "latest" || name == Baseline:
		return fmt.Errorf("%q is reserved: choose another name for the milestone", name)
	case !milestoneName.MatchString(name):
		return fmt.Errorf("%q is not a milestone name: use up to 64 letters, digits, dots, hyphens and underscores, starting with a letter or digit", name)
	}
	return nil
}

func (m *Milestone) check() error {
	if m.Name == "" {
		return errors.New("is a milestone without a name")
	}
	return CheckMilestone(m.Name)
}
