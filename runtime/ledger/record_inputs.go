package ledger

// Inputs are what a plan was compiled with beside its own files, so that a reader
// compiles it as it was applied.
type Inputs struct {
	// Suite is the suite of workloads that the command line chose.
	Suite string `json:"suite,omitempty"`
	// Variables are the values that were given to the plan's variables, by --var, a
	// file of variables or the environment, each as a plan would write it. One that
	// is not among them had its default.
	Variables map[string]string `json:"variables,omitempty"`
	// Env is what the plan's env() found in the environment.
	Env map[string]string `json:"env,omitempty"`
	// Sealed are, as "var.key" and "env.TOKEN", those that are sensitive, or may be
	// by their name or by what they are a part of: marks made with a key that does
	// not leave the state directory, by which a value can be told from another one
	// and not be guessed.
	Sealed map[string]string `json:"sealed,omitempty"`
}
