package engine

// Resident is an Instance whose processes run on this machine, so that what
// they hold of it can be told from what others do.
type Resident interface {
	// PIDs are its processes now, as this machine numbers them; none where they
	// cannot be seen.
	PIDs() []int
}
