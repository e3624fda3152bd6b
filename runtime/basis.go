package runtime

import "time"

// Basis are the launches that the decisions of a run rest on: how many it made, and how many
// earlier runs did, from when to when.
type Basis struct {
	New  int       `json:"new"`
	Old  int       `json:"old"`
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// Words are its values in the order in which tell.Reused takes them.
func (b Basis) Words() (made, old int, from, to time.Time) { return b.New, b.Old, b.From, b.To }
