package steps

import (
	"fmt"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// locked is which phase an apply of this plan would stop at before it came to
// another, and what that one would be; empty where it would come to it.
func (c *changed) locked(ph *plans.Phase) string {
	for _, name := range ph.After {
		if under := c.outcomes["phase "+name]; under.Locked != "" || under.WouldBe != "" && !under.WouldBe.Unlocks() {
			return c.lockedBy(name, under)
		}
	}
	for _, name := range ph.AfterDecided {
		if under := c.outcomes["phase "+name]; under.Locked != "" || under.WouldBe != "" && !under.WouldBe.Decided() {
			return c.lockedBy(name, under)
		}
	}
	return ""
}

func (c *changed) lockedBy(phase string, under WouldBe) string {
	if under.Locked != "" {
		return under.Locked
	}
	return fmt.Sprintf("%s would be %s", runtime.PhaseID(phase), under.WouldBe)
}

// lock says of an outcome that an apply would not come to it. What it would be by what
// was measured stays: whoever mends the phase below it wants to know.
func (w *WouldBe) lock(cause string) {
	if cause == "" {
		return
	}
	w.Locked, w.Accepted = cause, false
	w.Reasons = append([]string{"an apply would not come to it, because " + cause}, w.Reasons...)
}
