package ledger

import "fmt"

// DamageError is a ledger that does not verify. Nothing was changed.
type DamageError struct {
	Path string
	// Line counts from 1, the header; 0 when the damage has no line.
	Line int
	// Offset is where that line begins.
	Offset int64
	// Problem says what is wrong with it; Hint what to do.
	Problem string
	Hint    string
}

func (e *DamageError) Error() string {
	where := "ledger " + e.Path
	if e.Line > 0 {
		where += fmt.Sprintf(", line %d (at byte %d)", e.Line, e.Offset)
	}
	return fmt.Sprintf("%s: %s. %s", where, e.Problem, e.Hint)
}

const (
	hintDamaged = "Nothing was changed. Lines above it are intact; restore the file from a copy, or keep it and begin a new state directory"
	hintTorn    = "A crash during a write leaves this, and the next apply sets it aside; if an apply is running now, ask again when it has finished"
	hintRemoved = "Nothing was changed. Restore the ledger from a copy; if it was meant to go back to an older state, remove the checkpoint file to say so"
)
