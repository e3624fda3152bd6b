package process

// Swept is a process that a dead mxflow had left behind and Sweep ended.
type Swept struct {
	PID int
	// Command is its command line, safe to print and cut at 300 bytes. It may
	// hold what the plan put there, secrets included.
	Command string
	// Launch is the Launch.ID it belonged to; empty where the process hides it.
	Launch string
}
